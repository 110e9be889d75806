package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // a kubeconfig that works with kubectl works here
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubelife/lifecycle/examples/outage/cluster"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/process/atomicfile"
)

// source is a cluster that a scenario is made of.
type source struct {
	from, kubeconfig string
	config           cluster.Config
	// notes say what was not taken over.
	notes []string
}

func (s *source) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.from, "from", "", "Make the scenario of the cluster in `cluster.json`, - for standard input: the "+
		"output of "+cluster.Command+".")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "Make the scenario of the cluster of this `FILE`. It is asked for "+
		"lists alone; outage/cluster/clusterrole.yaml has the rights.")
	flags.BoolVar(&s.config.HashNames, "hash-names", false, "With --from and --kubeconfig: replace names by hashes. One "+
		"that guesses a name can still recognize it.")
	flags.StringVar(&s.config.PoolLabel, "pool-label", "", "With --from and --kubeconfig: the `label` of nodes that "+
		"names their pool. By default it is one of those that providers use.")
	flags.StringVar(&s.config.RackLabel, "rack-label", "", "With --from and --kubeconfig: the `label` of nodes that "+
		"names their rack. By default it is topology.kubernetes.io/rack or rack.")
}

// given reports whether the scenario is made of a cluster.
func (s *source) given() bool { return s.from != "" || s.kubeconfig != "" }

func (s *source) check() error {
	if s.from != "" && s.kubeconfig != "" {
		return errors.New("--from and --kubeconfig are two clusters; leave out one of them")
	}
	return nil
}

// unused reports flags that say how a cluster is read if there is none.
func (s *source) unused() error {
	if s.config != (cluster.Config{}) {
		return errors.New("--hash-names, --pool-label and --rack-label want --from or --kubeconfig")
	}
	return nil
}

// read makes the scenario.
func (s *source) read(ctx context.Context, in io.Reader, diagnostics io.Writer) (*scenario.Scenario, error) {
	name, objects, err := s.objects(ctx, in, diagnostics)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	made, notes, err := cluster.Import(objects, s.config)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", name, err)}
	}
	s.notes = notes
	return made, nil
}

// objects returns those of the cluster, and what to call the source in an
// error.
func (s *source) objects(ctx context.Context, in io.Reader, diagnostics io.Writer) (
	name string, objects *cluster.Objects, err error,
) {
	if s.kubeconfig != "" {
		objects, err = list(ctx, s.kubeconfig, diagnostics)
		return "--kubeconfig " + s.kubeconfig, objects, err
	}
	var data []byte
	if name = s.from; name == "-" {
		name = "standard input"
		data, err = io.ReadAll(in)
	} else {
		data, err = os.ReadFile(s.from)
	}
	if err != nil {
		return name, nil, usageError{err}
	}
	objects, err = cluster.Decode(data)
	if err != nil {
		return name, nil, usageError{err}
	}
	return name, objects, nil
}

// list asks the cluster of a kubeconfig. What is wrong with the file is the
// caller's to put right. What is wrong with the cluster is a failure.
func list(ctx context.Context, kubeconfig string, diagnostics io.Writer) (*cluster.Objects, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return nil, usageError{err}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, usageError{err}
	}
	shown := newProgress(diagnostics, 0)
	defer shown.clear()
	objects, err := cluster.List(ctx, client, func(resource string, listed, of int) {
		shown.listed(time.Now(), resource, listed, of)
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w before all was listed", errInterrupted)
	}
	return objects, err
}

// What the lists of a large cluster may cost its API server. 150,000 pods are
// 300 pages.
const (
	listQPS   = 10
	listBurst = 20
	// requestTimeout is how long the answer to one request may take. API servers
	// give up after a minute by default.
	requestTimeout = time.Minute
)

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config = rest.AddUserAgent(config, "outage")
	config.QPS, config.Burst, config.Timeout = listQPS, listBurst, requestTimeout
	return config, nil
}

// saveScenario writes a scenario for editing, with the notes as comments.
func saveScenario(name string, s *scenario.Scenario, notes []string, diagnostics io.Writer) error {
	file, err := atomicfile.NewFile("--save", name)
	if err != nil {
		return err
	}
	text, err := scenario.Write(s)
	if err != nil {
		return err
	}
	text = append(comments(notes), text...)
	if err := file.Write(func(out io.Writer) error { _, err := out.Write(text); return err }); err != nil {
		return err
	}
	fmt.Fprintf(diagnostics, "outage: saved %s\n", name)
	return nil
}

// comments returns notes as comments of YAML, one a line. Some have values of
// flags, which may hold whatever ends a comment.
func comments(notes []string) []byte {
	if len(notes) == 0 {
		return nil
	}
	text := []byte("# Made of a cluster. What was left out or changed, and what it means:\n")
	for _, note := range notes {
		words := strings.FieldsFunc(note, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
		text = fmt.Appendf(text, "# - %s\n", strings.Join(words, " "))
	}
	return text
}

// checkWritten reports a file to be written that is also read. Its content
// would be lost. Standard output has other things than files to hold.
func (s *settings) checkWritten() error {
	for _, to := range []struct{ flag, name string }{{"--html", s.html}, {"--save", s.save}} {
		if to.name == "-" {
			return fmt.Errorf("%s - is not standard output; name a file, or ./- for one of that name", to.flag)
		}
		written, err := os.Stat(to.name)
		if err != nil {
			continue // there is none, or it cannot be written either
		}
		for _, from := range []string{s.scenario, s.source.from, s.source.kubeconfig} {
			if read, err := os.Stat(from); err == nil && os.SameFile(read, written) {
				return fmt.Errorf("%s %s is the file that is read; name another one", to.flag, to.name)
			}
		}
	}
	return nil
}
