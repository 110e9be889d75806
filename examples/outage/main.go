// Command outage plays outages of a cluster against the node lifecycle
// controller of nodelifecycle, in virtual time, and reports what the controller
// does. That is when it finds the nodes dead, how it judges their zones, and
// how fast it taints them. It also reports which pods are evicted and which
// stay.
//
//	go -C examples run ./outage --list
//	go -C examples run ./outage zone-loss
//	go -C examples run ./outage zone-loss --compare node-eviction-rate=1
//	go -C examples run ./outage zone-loss --html report.html
//	go -C examples run ./outage outage/scenarios/rack-loss.yaml \
//	  --set unhealthy-zone-threshold=0.3 --check
//	go -C examples run ./outage blast --from cluster.json
//
// It answers what a flag would do before a cluster has to find out. An hour of
// a cluster of a few hundred nodes takes a second or two, and is the same each
// time. The controller is the real one; package simulation says what is not. A
// scenario is a file of a page: package scenario describes the language, and
// the folder scenarios has those that ship. Package report has the shape of
// --json.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// Exit codes.
const (
	exitFailed = 1 // could not do it, was interrupted, or an invariant did not hold
	exitUsage  = 2 // was called wrongly, or the scenario is invalid
)

// usageError is what the caller has to put right.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are what the command line says.
type settings struct {
	scenario string
	seed     uint64
	seedSet  bool
	set      []string
	compare  []string
	kubelets bool
	json     bool
	html     string
	check    bool
	list     bool
	source   source
	save     string
	blast    bool
	// longest is how long a loss of blast is played, and workers how many are at a
	// time.
	longest time.Duration
	workers int
	// unexpected says that the settings change what must come out, so that what
	// the scenario expects is left out.
	unexpected bool
	// judge watches the simulation for --check.
	judge checker
}

func run(ctx context.Context, args []string, in io.Reader, out, diagnostics io.Writer) int {
	s, err := parse(args, diagnostics)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(diagnostics, "outage: %v\nRun with --help for what it does.\n", err)
		return exitUsage
	}
	err = s.perform(ctx, in, out, diagnostics)
	if err == nil {
		return 0
	}
	fmt.Fprintf(diagnostics, "outage: %v\n", err)
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

func parse(args []string, diagnostics io.Writer) (*settings, error) {
	s := &settings{judge: check}
	if len(args) > 0 && args[0] == blastCommand {
		s.blast, args = true, args[1:]
	}
	flags := pflag.NewFlagSet("outage", pflag.ContinueOnError)
	flags.SetOutput(diagnostics)
	flags.SortFlags = false
	var compare string
	s.addFlags(flags, &compare)
	flags.Usage = func() { s.help(diagnostics, flags) }
	if err := flags.Parse(args); err != nil {
		return nil, withHint(err, flags, args)
	}
	s.seedSet = flags.Changed("seed")
	if s.kubelets {
		s.set = append(s.set, kubeletsPath+"=true")
	}
	if flags.Changed("compare") {
		s.compare = strings.Split(compare, ",")
	}
	if s.blast {
		return s, s.checkBlast(flags)
	}
	return s, s.checkPlay(flags, diagnostics)
}

// addFlags adds the flags of a run and of blast. Those of one are an error with
// the other.
func (s *settings) addFlags(flags *pflag.FlagSet, compare *string) {
	flags.StringArrayVar(&s.set, "set", nil, "Change the scenario: a flag of the controller, `name=value`, or the path "+
		"of a value, duration=2h. May be given several times.")
	if !s.blast {
		flags.StringVar(compare, "compare", "",
			"Run the scenario twice, as given and with the settings `a=b,c=d`, and show both side by side.")
	}
	flags.Uint64Var(&s.seed, "seed", 0, "Play another course of the same scenario: other times of heartbeats and calls, "+
		"other nodes where the script leaves that open.")
	s.source.addFlags(flags)
	flags.BoolVar(&s.kubelets, "kubelets", false, "Run the kubelet of examples/hollownode on each node, in the place "+
		"of the few rules that stand for it. The same must come out. A run takes 10 to 25 times as long.")
	flags.BoolVar(&s.json, "json", false, "Print one JSON document instead of text.")
	if s.blast {
		s.addBlastFlags(flags)
		return
	}
	flags.BoolVar(&s.check, "check", false, "Check all the time that the controller does what it promises, and at the "+
		"end that what the scenario expects came out. Exit with 1 if not.")
	flags.StringVar(&s.html, "html", "", "Also write a page to `FILE`: plots over time with the timeline, and the "+
		"tables. With --compare it has both runs on the same axes. It needs no network.")
	flags.StringVar(&s.save, "save", "", "Write the scenario with its settings to `FILE`, for editing, and play nothing.")
	flags.BoolVar(&s.list, "list", false, "List the scenarios that ship.")
}

// checkPlay takes the scenario to play, and reports flags that contradict each
// other.
func (s *settings) checkPlay(flags *pflag.FlagSet, diagnostics io.Writer) error {
	if flags.NArg() == 0 && flags.NFlag() == 0 {
		s.help(diagnostics, flags)
		return pflag.ErrHelp
	}
	if err := s.checkOutput(flags); err != nil {
		return err
	}
	switch {
	case s.list && flags.NArg() > 0:
		return fmt.Errorf("--list takes no scenario, got %q", flags.Args())
	case s.list:
		return nil
	}
	return s.takeScenario(flags)
}

// checkOutput reports flags of what is written that contradict each other.
func (s *settings) checkOutput(flags *pflag.FlagSet) error {
	saving := flags.Changed("save")
	plays := s.list || s.html != "" || s.check || s.json || flags.Changed("compare")
	switch {
	case flags.Changed("html") && s.html == "":
		return errors.New("--html wants the name of a file")
	case saving && s.save == "":
		return errors.New("--save wants the name of a file")
	case s.list && s.html != "":
		return errors.New("--list runs nothing that --html could show")
	case saving && plays:
		return errors.New("--save plays nothing: leave out --list, --html, --check, --json and --compare")
	}
	return nil
}

// takeScenario takes the scenario that is named, unless a cluster is.
func (s *settings) takeScenario(flags *pflag.FlagSet) error {
	switch command := nearest(flags.Arg(0), commands); {
	case command == "" || !s.source.given() && flags.NArg() == 1:
	case command == flags.Arg(0):
		return fmt.Errorf("%s wants to be the first argument", command)
	default:
		return fmt.Errorf("there is no command %s; did you mean %s?", flags.Arg(0), command)
	}
	if s.source.given() {
		if flags.NArg() > 0 {
			return fmt.Errorf("--from and --kubeconfig make a scenario; leave out %q", flags.Args())
		}
		return s.source.check()
	}
	if err := s.source.unused(); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("takes one scenario, got %q", flags.Args())
	}
	s.scenario = flags.Arg(0)
	return nil
}
