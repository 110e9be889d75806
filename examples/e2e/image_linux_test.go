package e2e

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
)

// TestImageHoldsAllThatAProgramNeeds runs each program as its container would.
// The root folder has only the binary and what Kubernetes mounts for the
// ServiceAccount. User, arguments and environment are those of the manifest. It
// stands in for a container engine.
func TestImageHoldsAllThatAProgramNeeds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may change a process's root folder")
	}
	runtime.LockOSThread() // the thread's end is what kills a program that is left over
	defer runtime.UnlockOSThread()
	c := newCluster(t, map[string]int{"a": 1})
	c.apply("controllerruntime/federation/crds.yaml", federation.CRDs())
	for name := range everyProgram {
		c.applyManifest(name)
		root := t.TempDir()
		binary, err := os.ReadFile(program(t, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, "program"), binary, 0o755))
		c.mountAccount(root, name)
		require.NoError(t, os.Chmod(root, 0o755))

		deployment, container := c.deployed(name)
		port, probes := freePort(t), freePort(t)
		server, err := url.Parse(c.plane.RESTConfig().Host)
		require.NoError(t, err)
		command := exec.Command("/program", append(container.Args, listening(name, port, probes)...)...)
		command.Dir = "/"
		command.Env = []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
		for _, v := range container.Env {
			command.Env = append(command.Env, v.Name+"="+v.Value)
		}
		security := deployment.Spec.Template.Spec.SecurityContext
		command.SysProcAttr = &syscall.SysProcAttr{
			Chroot:     root,
			Credential: &syscall.Credential{Uid: uint32(*security.RunAsUser), Gid: uint32(*security.RunAsGroup)},
			Pdeathsig:  syscall.SIGKILL,
		}
		var log bytes.Buffer
		command.Stdout, command.Stderr = &log, &log
		require.NoError(t, command.Start())
		running := &controller{port: port, caller: c.callerWith(c.plane.RESTConfig())}
		ready := func() error { return running.answers("/readyz") }
		if name == "controllerruntime" {
			ready = func() error { return c.probe("http://127.0.0.1:" + probes + "/readyz") }
		}
		started := time.Now()
		for err = ready(); err != nil && time.Since(started) < patience; err = ready() {
			time.Sleep(100 * time.Millisecond)
		}
		status, _, asked := running.ask(c.reader(name), "/metrics")
		signaled := command.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(15*time.Second, func() { _ = command.Process.Kill() })
		ended := command.Wait()
		kill.Stop()
		require.NoError(t, errors.Join(err, asked, signaled, ended), log.String())
		require.Equal(t, http.StatusOK, status, "a token was reviewed")
	}
}

// listening are the flags with which a program listens on loopback alone.
func listening(name, port, probes string) []string {
	if name == "controllerruntime" {
		return []string{"--metrics-bind-address=127.0.0.1:" + port, "--health-probe-bind-address=127.0.0.1:" + probes}
	}
	return []string{"--bind-address=127.0.0.1", "--secure-port=" + port}
}

// mountAccount writes what Kubernetes mounts into the containers of a pod.
func (c *cluster) mountAccount(root, account string) {
	c.t.Helper()
	config, err := c.plane.ServiceAccountConfig(c.t.Context(), metav1.NamespaceSystem, account)
	require.NoError(c.t, err)
	folder := filepath.Join(root, "var/run/secrets/kubernetes.io/serviceaccount")
	require.NoError(c.t, os.MkdirAll(folder, 0o755))
	for name, content := range map[string][]byte{
		"token": []byte(config.BearerToken), "ca.crt": config.CAData, "namespace": []byte(metav1.NamespaceSystem),
	} {
		require.NoError(c.t, os.WriteFile(filepath.Join(folder, name), content, 0o644))
	}
}
