// Command up runs etcd and kube-apiserver on this machine until it is
// interrupted, for trying programs against a real API server:
//
//	go run ./controlplane/up
//
// prints the path of a kubeconfig. There is no scheduler and no controller, so
// pods stay where they are bound, and nothing taints a silent node.
//
// With -build it builds the named programs only, and prints their paths; a CI
// job warms its cache that way.
//
//	go run ./controlplane/up -build etcd,kube-apiserver
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run() error {
	build := flag.String("build", "", "comma-separated `programs` to build, instead of running anything")
	dir := flag.String("dir", "", "`folder` for the data, which stays (default: a temporary one)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *build != "" {
		return buildOnly(ctx, strings.Split(*build, ","))
	}
	return serve(ctx, *dir)
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

// buildOnly builds the named programs and prints their paths.
func buildOnly(ctx context.Context, names []string) error {
	byName := map[string]controlplane.Binary{}
	for _, binary := range controlplane.Binaries() {
		byName[binary.Name()] = binary
	}
	for _, name := range names {
		binary, ok := byName[name]
		if !ok {
			return fmt.Errorf("there is no program %q", name)
		}
		paths, err := controlplane.Build(ctx, controlplane.BuildConfig{Progress: os.Stderr}, binary)
		if err != nil {
			return err
		}
		fmt.Println(paths[binary])
	}
	return nil
}
