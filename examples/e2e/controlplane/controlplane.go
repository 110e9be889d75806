package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

var (
	// ErrStopped says that the control plane has been stopped.
	ErrStopped = errors.New("the control plane is stopped")
	// ErrNotRunning says that the API server is not running: it was killed, or
	// ended by itself, and has not been restarted.
	ErrNotRunning = errors.New("the API server is not running")
)

// stopGrace is how long a process may take to end by itself.
const stopGrace = 5 * time.Second

// ControlPlane is a running etcd and kube-apiserver. Its methods may be called
// concurrently.
type ControlPlane struct {
	config    Config
	dir       string // absolute
	locks     string // the folder of the port locks
	binaries  map[Binary]string
	authority *authority

	// Set while starting, not changed after.
	etcd     *Process
	etcdPort *port
	apiPort  *port
	host     string // the API server's URL
	admin    *rest.Config

	mu        sync.Mutex
	apiServer *Process // the latest, running or not
	audits    []*auditLog
	stopped   bool
}

// Start builds the binaries if need be, starts etcd and kube-apiserver, and
// returns when the API server reports ready and its namespaces exist. ctx
// bounds the building and the starting; the control plane then runs until Stop.
// After an error nothing is left running. The error of a process that failed
// carries the end of its log.
func Start(ctx context.Context, config Config) (*ControlPlane, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("controlplane.Config: %w", err)
	}
	cacheRoot, err := config.Build.cacheRoot()
	if err != nil {
		return nil, err
	}
	binaries, err := Build(ctx, config.Build, Etcd, KubeAPIServer)
	if err != nil {
		return nil, err
	}
	dir, err := config.makeDir()
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{config: config, dir: dir, locks: filepath.Join(cacheRoot, "ports"), binaries: binaries}
	if err := cp.bringUp(ctx); err != nil {
		// Killed outright: nothing in it is worth a kind end, and an API server that
		// is still starting does not hear SIGTERM.
		return nil, errors.Join(fmt.Errorf("starting a control plane: %w", err), cp.stop((*Process).Kill))
	}
	return cp, nil
}

// makeDir returns the absolute path of the data folder, which exists then and
// is empty.
func (c Config) makeDir() (string, error) {
	if c.Dir == "" {
		return os.MkdirTemp("", "controlplane-")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("controlplane.Config: Dir %s is not empty", dir)
	}
	return dir, nil
}

func (cp *ControlPlane) bringUp(ctx context.Context) error {
	if err := cp.writeCredentials(); err != nil {
		return err
	}
	if err := cp.startEtcd(ctx); err != nil {
		return err
	}
	if err := cp.startAPIServer(ctx); err != nil {
		return err
	}
	return writeKubeconfig(cp.admin, cp.Kubeconfig())
}

// Dir is the folder with the data, the logs and the credentials.
func (cp *ControlPlane) Dir() string { return cp.dir }

// Logs returns the last lines of the logs of etcd and of the latest API server.
func (cp *ControlPlane) Logs(lines int) string {
	var logs strings.Builder
	for _, process := range []*Process{cp.etcd, cp.currentAPIServer()} {
		if process != nil {
			logs.WriteString(process.LogTail(lines) + "\n")
		}
	}
	return logs.String()
}

// Stop ends both processes, first kindly and after five seconds each with
// SIGKILL, and removes the data if its folder was a temporary one. When it
// returns the processes are gone. It may be called again. Its error is about
// removing the data.
func (cp *ControlPlane) Stop() error {
	return cp.stop(func(p *Process) { p.Stop(stopGrace) })
}

func (cp *ControlPlane) stop(end func(*Process)) error {
	cp.mu.Lock()
	again := cp.stopped
	cp.stopped = true // from here on no API server is started
	cp.mu.Unlock()

	// The API server goes first: without etcd it would not end by itself.
	for _, process := range []*Process{cp.currentAPIServer(), cp.etcd} {
		if process != nil {
			end(process)
		}
	}
	if again {
		return nil
	}
	cp.apiPort.release()
	cp.etcdPort.release()
	if cp.config.Dir != "" {
		return nil
	}
	return os.RemoveAll(cp.dir)
}
