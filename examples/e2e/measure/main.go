// Command measure compares our programs with others on a real etcd and
// kube-apiserver:
//
//	go -C examples/e2e run ./measure evictions
//	go -C examples/e2e run ./measure blindness --help
//
// It prints tables in Markdown, and its progress on standard error. Package
// sidebyside says how fair the comparison is, and the package of each measurement
// what is counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/e2e/blindness"
	"github.com/kubelife/lifecycle/examples/e2e/detection"
	"github.com/kubelife/lifecycle/examples/e2e/evictions"
	"github.com/kubelife/lifecycle/examples/e2e/hollow"
	"github.com/kubelife/lifecycle/examples/e2e/rollouts"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/process"
)

func main() {
	klog.SetLogger(klog.Logger{}) // fleets log each heartbeat that fails, informers each outage
	process.Main(func(ctx context.Context, args []string, out, diagnostics io.Writer) int {
		err := run(ctx, args, out, diagnostics)
		if err != nil && !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(diagnostics, "measure:", err)
		}
		return sidebyside.ExitCode(err)
	})
}

// measurements are those that the first argument chooses from.
var measurements = []struct {
	name, about string
	run         func(ctx context.Context, args []string, out, diagnostics io.Writer) error
}{
	{"detection", "delays, wrong evictions and costs while nodes die, and costs at rest", detection.Run},
	{"evictions", "six ways to lose a pod", evictions.Run},
	{"blindness", "which nodes are declared dead while little can be seen", blindness.Run},
	{"rollouts", "the life of a DaemonSet", rollouts.Run},
	{"hollow", "what hollow nodes cost next to kwok", hollow.Run},
}

var errNoMeasurement = errors.New("wants a measurement, see --help")

func run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	if len(args) > 0 {
		for _, m := range measurements {
			if m.name == args[0] {
				return m.run(ctx, args[1:], out, diagnostics)
			}
		}
	}
	fmt.Fprintln(diagnostics, "Usage: go -C examples/e2e run ./measure MEASUREMENT [FLAGS], --help for its flags")
	for _, m := range measurements {
		fmt.Fprintf(diagnostics, "  %-10s %s\n", m.name, m.about)
	}
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
		return flag.ErrHelp
	}
	return errNoMeasurement
}
