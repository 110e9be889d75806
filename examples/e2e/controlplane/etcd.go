package controlplane

import (
	"context"
	"fmt"
	"net/http"
)

// startEtcd starts the first etcd, on a port that is free, and waits until it
// serves.
func (cp *ControlPlane) startEtcd(ctx context.Context) error {
	var err error
	cp.etcdPort, err = onFreePort(ctx, func(number int) error { return cp.runEtcd(ctx, number) })
	return err
}

// runEtcd starts etcd and waits until it serves.
func (cp *ControlPlane) runEtcd(ctx context.Context, number int) error {
	process, err := cp.spawnEtcd(number)
	if err != nil {
		return err
	}
	return waitReady(ctx, process, func(ctx context.Context) error { return probeEtcd(ctx, etcdURL(number)) })
}

func (cp *ControlPlane) currentEtcd() *Process {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.etcd
}

// spawnEtcd starts etcd and does not wait for it.
func (cp *ControlPlane) spawnEtcd(number int) (*Process, error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.stopped {
		return nil, ErrStopped
	}
	process, err := StartProcess(Command{
		Name: Etcd.Name(),
		Path: cp.binaries[Etcd],
		Args: []string{
			"--data-dir=" + cp.file("etcd"),
			"--listen-client-urls=" + etcdURL(number),
			"--advertise-client-urls=" + etcdURL(number),
			"--listen-peer-urls=http://127.0.0.1:0", // it must have one; there are no peers
			"--unsafe-no-fsync",                     // waiting for the disk is most of a write
		},
		LogFile: cp.file("etcd.log"),
	})
	if err != nil {
		return nil, err
	}
	cp.etcd = process
	return process, nil
}

func etcdURL(number int) string { return "http://" + loopback(number) }

func probeEtcd(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd's /readyz says %s", response.Status)
	}
	return nil
}
