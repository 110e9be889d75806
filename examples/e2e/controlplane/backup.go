package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// SaveSnapshot writes what etcd stores into a file, with etcdctl.
func (cp *ControlPlane) SaveSnapshot(ctx context.Context, file string) error {
	return cp.etcdTool(ctx, Etcdctl, "--endpoints="+etcdURL(cp.etcdPort.number), "snapshot", "save", file)
}

// RestoreSnapshot ends etcd, has etcdutl replace its data by a snapshot of
// [ControlPlane.SaveSnapshot], and starts etcd again on its port. The API server
// is left alone, running or not. As Kubernetes's documentation wants it, an
// operator stops it before and starts it afterwards.
//
// Revisions go on from that of the snapshot plus bump. All that were given out
// before are marked as compacted, so that each watch of etcd ends. It returns
// ErrStopped after Stop.
func (cp *ControlPlane) RestoreSnapshot(ctx context.Context, file string, bump int64) error {
	cp.mu.Lock()
	etcd, stopped := cp.etcd, cp.stopped
	cp.mu.Unlock()
	if stopped {
		return ErrStopped
	}
	etcd.Kill()
	if err := os.RemoveAll(cp.file("etcd")); err != nil {
		return err
	}
	if err := cp.etcdTool(ctx, Etcdutl, "snapshot", "restore", file, "--data-dir="+cp.file("etcd"),
		"--bump-revision="+strconv.FormatInt(bump, 10), "--mark-compacted"); err != nil {
		return err
	}
	return cp.runEtcd(ctx, cp.etcdPort.number)
}

// etcdTool runs a tool of etcd to its end.
func (cp *ControlPlane) etcdTool(ctx context.Context, tool Binary, args ...string) error {
	built, err := Build(ctx, cp.config.Build, tool)
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, built[tool], args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", tool.Name(), args, err, bytes.TrimSpace(out))
	}
	return nil
}
