// Command up runs etcd and kube-apiserver on this machine until it is
// interrupted, for trying programs against a real API server:
//
//	go run ./controlplane/up
//
// prints the path of a kubeconfig. There is no scheduler and no controller, so
// pods stay where they are bound, and nothing taints a silent node.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

func main() {
	dir := flag.String("dir", "", "`folder` for the data, which stays (default: a temporary one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1) //nolint:gocritic // nothing is left that stop would undo
	}
}

// serve runs a control plane until ctx ends.
func serve(ctx context.Context, dir string) error {
	config := controlplane.Config{Dir: dir, Build: controlplane.BuildConfig{Progress: os.Stderr}}
	cp, err := controlplane.Start(ctx, config)
	if err != nil {
		return err
	}
	fmt.Println("export KUBECONFIG=" + cp.Kubeconfig())
	fmt.Fprintln(os.Stderr, "ready: an API server with nothing else, no scheduler and no controller; Ctrl-C stops it")
	<-ctx.Done()
	return cp.Stop()
}
