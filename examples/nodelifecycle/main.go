// Command nodelifecycle is a node lifecycle and taint eviction controller made of
// the lifecycle library: it marks nodes that have fallen silent, taints them at a
// rate that depends on how disrupted their zone is, and evicts the pods that do
// not tolerate that.
//
// With --kubeconfig or in a cluster it does the work of kube-controller-manager's
// node-lifecycle-controller and taint-eviction-controller, which have to be
// switched off there. With neither it demonstrates that on a cluster in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// Exit codes.
const (
	exitFailed = 1 // could not do the work, or stopped doing it
	exitUsage  = 2 // was called wrongly
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	var s settings
	flags := pflag.NewFlagSet("nodelifecycle", pflag.ContinueOnError)
	flags.SetOutput(diagnostics)
	flags.SortFlags = false
	s.addFlags(flags)
	flags.Usage = func() { usage(diagnostics, flags) }
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("takes no arguments, got %q", flags.Args())
	}
	if err == nil {
		err = s.validate()
	}
	if err != nil {
		fmt.Fprintf(diagnostics, "nodelifecycle: %v\nRun with --help for the flags.\n", err)
		return exitUsage
	}
	setVerbosity(s.verbosity)
	defer klog.Flush()
	config, found, err := restConfig(&s)
	switch {
	case err != nil:
	case found:
		err = runInCluster(ctx, &s, config)
	default:
		if err = setDemoDefaults(flags); err == nil {
			err = demonstrate(ctx, &s, out)
		}
	}
	if err != nil {
		fmt.Fprintf(diagnostics, "nodelifecycle: %v\n", err)
		return exitFailed
	}
	return 0
}

func usage(out io.Writer, flags *pflag.FlagSet) {
	fmt.Fprint(out, `nodelifecycle marks nodes that have fallen silent, taints them at the rate that
the state of their zone allows, and evicts the pods that do not tolerate that.

  nodelifecycle                         a demonstration on a cluster in memory
  nodelifecycle --kubeconfig FILE       the real thing, on a cluster

On a cluster it replaces two controllers of kube-controller-manager, which has to
run with --controllers=*,-node-lifecycle-controller,-taint-eviction-controller.

Flags:
`)
	fmt.Fprint(out, flags.FlagUsages())
	fmt.Fprint(out, `
Exit codes: 0 done or stopped by a signal, 1 failed or lost the leader's lease,
2 called wrongly.
`)
}

func setVerbosity(v int) {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := flags.Set("v", strconv.Itoa(v)); err != nil {
		klog.Background().Error(err, "Set log verbosity")
	}
}
