package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

const (
	// readyTimeout is how long etcd, and after it the API server, may each take
	// until ready. A quiet machine needs some four seconds for both.
	readyTimeout = 2 * time.Minute
	// stopGrace is how long a process may take to end by itself.
	stopGrace = 5 * time.Second
)

// Config describes a control plane. The zero value is a good one.
type Config struct {
	// Build says where the binaries come from.
	Build BuildConfig
	// Dir is a folder for data, logs and credentials, which is made if need be. It
	// must be empty, because audit logs of an earlier run would be counted. It
	// stays after Stop. The empty string means a new temporary folder that Stop
	// removes.
	Dir string
	// APIServerFlags are further flags of kube-apiserver, named without dashes.
	// They replace this package's choice of the same flag. It relies on its own of
	// ports, certificates, etcd and audit.
	APIServerFlags map[string]string
}

// ControlPlane is a running etcd and kube-apiserver. Its methods may be called
// concurrently.
type ControlPlane struct {
	config    Config
	dir       string // absolute
	binaries  map[Binary]string
	authority *authority

	// Set while starting, not changed after.
	etcdPort *port
	apiPort  *port
	host     string // the API server's URL
	admin    *rest.Config

	mu        sync.Mutex
	etcd      *Process // the latest, running or not
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
	binaries, err := Build(ctx, config.Build, Etcd, KubeAPIServer)
	if err != nil {
		return nil, err
	}
	dir, err := config.makeDir()
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{config: config, dir: dir, binaries: binaries}
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
	cp.stopped = true // from here on neither is started
	cp.mu.Unlock()

	// The API server goes first: without etcd it would not end by itself.
	for _, process := range []*Process{cp.currentAPIServer(), cp.currentEtcd()} {
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
