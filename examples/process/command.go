package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// Exit codes.
const (
	// ExitFailed: it could not do the work, or stopped doing it.
	ExitFailed = 1
	// ExitUsage: it was called wrongly.
	ExitUsage = 2
)

// Main calls run with the command line and a context that ends with SIGINT or
// SIGTERM. It ends the process with run's code. A second signal ends it at
// once.
func Main(run func(ctx context.Context, args []string, out, diagnostics io.Writer) int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // before ctx ends, so that no second signal is lost
		cancel()
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Settings are flags of a program's own.
type Settings interface {
	AddFlags(flags *pflag.FlagSet)
	Check(c *commandline.Checks)
}

// A Command is the command line of a program. All fields are required.
type Command struct {
	// Process names the program. Its flags come first.
	Process *commandline.Process
	// Settings are the program's own flags.
	Settings Settings
	// Intro begins what --help prints: what the program does, and how it is
	// called.
	Intro string
	// Run does the program's work once the flags are parsed and checked.
	Run func(ctx context.Context, flags *pflag.FlagSet, out io.Writer) error
}

// FlagSet returns the flags of the command, set to their defaults.
func (c *Command) FlagSet() *pflag.FlagSet {
	flags := pflag.NewFlagSet(c.Process.Name, pflag.ContinueOnError)
	flags.SortFlags = false
	c.Process.AddFlags(flags)
	c.Settings.AddFlags(flags)
	return flags
}

// Execute parses the arguments and runs the command. It returns the exit code:
// 0, [ExitFailed] or [ExitUsage]. Help goes to out, where a pager finds it.
// What went wrong it tells on diagnostics, in a line each. A log in JSON goes
// there too, and keeps its format until the process ends.
func (c *Command) Execute(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	flags := c.FlagSet()
	flags.SetOutput(diagnostics)
	flags.Usage = func() { c.usage(out, flags) }
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = c.check(flags)
	}
	if err != nil {
		fmt.Fprintf(diagnostics, "%s: %v\nRun with --help for the flags.\n", c.Process.Name, err)
		return ExitUsage
	}
	setLogging(c.Process, diagnostics)
	defer klog.Flush()
	if err := c.Run(ctx, flags, out); err != nil {
		c.tellFailure(err, diagnostics)
		return ExitFailed
	}
	return 0
}

func (c *Command) check(flags *pflag.FlagSet) error {
	if flags.NArg() > 0 {
		return fmt.Errorf("takes no arguments, got %q", flags.Args())
	}
	var checks commandline.Checks
	c.Process.Check(&checks)
	c.Settings.Check(&checks)
	return checks.Err()
}

// tellFailure writes a line in the format of the log.
func (c *Command) tellFailure(err error, diagnostics io.Writer) {
	if c.Process.LoggingFormat == commandline.LoggingJSON {
		klog.Background().Error(err, "Program failed", "program", c.Process.Name)
		return
	}
	fmt.Fprintf(diagnostics, "%s: %v\n", c.Process.Name, err)
}

func (c *Command) usage(out io.Writer, flags *pflag.FlagSet) {
	fmt.Fprintf(out, `%s
To stop all that makes pods leave, for as long as the annotation is there:
  kubectl -n %s annotate lease %s %s=why
  kubectl -n %[2]s annotate lease %[3]s %[4]s-

Flags:
%s
An API server to try it on, on this machine: go -C examples/e2e run ./controlplane/up

Exit codes: 0 done or stopped by a signal, 1 failed or lost the leader's lease,
2 called wrongly.
`, c.Intro, c.Process.LeaseNamespace, c.Process.LeaseName, HaltAnnotation, flags.FlagUsages())
}
