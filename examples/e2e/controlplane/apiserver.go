//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// startAPIServer starts the first API server, on a port that is free, and waits
// until it is ready.
func (cp *ControlPlane) startAPIServer(ctx context.Context) error {
	var err error
	cp.apiPort, err = onFreePort(ctx, func(number int) error {
		cp.host = "https://" + loopback(number)
		if cp.admin, err = cp.UserConfig(adminUser, adminGroup); err != nil {
			return err
		}
		process, err := cp.spawnAPIServer(cp.currentAPIServer(), number)
		if err != nil {
			return err
		}
		return waitReady(ctx, process, cp.probeAPIServer)
	})
	return err
}

// KillAPIServer kills the API server with SIGKILL and waits until it is gone.
// Connections to it break. It returns ErrNotRunning if there was nothing to
// kill.
func (cp *ControlPlane) KillAPIServer() error {
	process := cp.currentAPIServer()
	if !process.Running() {
		return ErrNotRunning
	}
	process.Kill()
	return nil
}

// RestartAPIServer starts the API server again, on the same port and data,
// after killing it if it runs, and returns when it is ready. Kubeconfigs,
// certificates and tokens stay valid. It returns ErrStopped after Stop. Of two
// concurrent calls one fails.
func (cp *ControlPlane) RestartAPIServer(ctx context.Context) error {
	old := cp.currentAPIServer()
	old.Kill()
	process, err := cp.spawnAPIServer(old, cp.apiPort.number)
	if err != nil {
		return fmt.Errorf("restarting the API server: %w", err)
	}
	return waitReady(ctx, process, cp.probeAPIServer)
}

func (cp *ControlPlane) currentAPIServer() *Process {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.apiServer
}

// spawnAPIServer starts a process in the place of old, which must have ended,
// and does not wait for it. Each has log files of its own, so that what the log
// says is about it.
func (cp *ControlPlane) spawnAPIServer(old *Process, number int) (*Process, error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.stopped {
		return nil, ErrStopped
	}
	if cp.apiServer != old {
		return nil, errors.New("another caller has restarted it")
	}
	run := len(cp.audits) + 1
	auditFile := cp.file(fmt.Sprintf("audit-%d.log", run))
	process, err := StartProcess(Command{
		Name:    KubeAPIServer.Name(),
		Path:    cp.binaries[KubeAPIServer],
		Args:    cp.apiServerFlags(number, auditFile),
		LogFile: cp.file(fmt.Sprintf("kube-apiserver-%d.log", run)),
	})
	if err != nil {
		return nil, err
	}
	cp.apiServer = process
	cp.audits = append(cp.audits, newAuditLog(auditFile, process.Running))
	return process, nil
}

func (cp *ControlPlane) apiServerFlags(number int, auditFile string) []string {
	flags := map[string]string{
		"bind-address": "127.0.0.1",
		"secure-port":  fmt.Sprint(number),
		// Without it the server looks for the machine's own address, which a sandbox
		// may not have. As a loopback address is refused as an endpoint of the
		// kubernetes Service, and no pod will ask for it, no endpoint is written.
		"advertise-address":                "127.0.0.1",
		"endpoint-reconciler-type":         "none",
		"etcd-servers":                     "http://" + loopback(cp.etcdPort.number),
		"tls-cert-file":                    cp.file(servingCertificateFile),
		"tls-private-key-file":             cp.file(servingKeyFile),
		"client-ca-file":                   cp.file(authorityFile),
		"service-account-issuer":           "https://kubernetes.default.svc.cluster.local",
		"service-account-key-file":         cp.file(serviceAccountKeyFile),
		"service-account-signing-key-file": cp.file(serviceAccountKeyFile),
		"service-cluster-ip-range":         "10.0.0.0/24",
		"authorization-mode":               "RBAC",
		"disable-admission-plugins":        "ServiceAccount", // it waits for kube-controller-manager
		"audit-policy-file":                cp.file(auditPolicyFile),
		"audit-log-path":                   auditFile,
		"audit-log-maxsize":                "0", // one file: a count must not end where a file does
	}
	maps.Copy(flags, cp.config.APIServerFlags)
	var args []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		args = append(args, "--"+name+"="+flags[name])
	}
	return args
}

// probeAPIServer returns nil when the API server says that it is ready and the
// namespaces exist that tests use. The server makes those in the background.
func (cp *ControlPlane) probeAPIServer(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return err
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, "kube-node-lease"} {
		if _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return nil
}
