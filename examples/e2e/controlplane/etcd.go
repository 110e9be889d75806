package controlplane

import (
	"context"
	"fmt"
	"net/http"
)

// startEtcd starts etcd and waits until it serves.
func (cp *ControlPlane) startEtcd(ctx context.Context) error {
	var err error
	cp.etcdPort, err = onFreePort(ctx, func(number int) error {
		url := "http://" + loopback(number)
		process, err := StartProcess(Command{
			Name: Etcd.Name(),
			Path: cp.binaries[Etcd],
			Args: []string{
				"--data-dir=" + cp.file("etcd"),
				"--listen-client-urls=" + url,
				"--advertise-client-urls=" + url,
				"--listen-peer-urls=http://127.0.0.1:0", // it must have one; there are no peers
				"--unsafe-no-fsync",                     // waiting for the disk is most of a write
			},
			LogFile: cp.file("etcd.log"),
		})
		if err != nil {
			return err
		}
		cp.etcd = process
		return waitReady(ctx, process, func(ctx context.Context) error { return probeEtcd(ctx, url) })
	})
	return err
}

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
