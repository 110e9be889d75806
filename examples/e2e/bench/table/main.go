// Command table shows how fast this library is next to k8s.io/kubernetes.
//
// Without a flag it reads what `go test -bench` prints and writes a Markdown
// table. A row has the two sides of a comparison of package bench. Of a
// benchmark that was run several times (-count) it shows the median. One that
// has failed says so, and the others are shown; the failures stand below the
// table. Ctrl-C ends what writes them, and the table has what was read.
// A shell forgets the exit status of all but the last command of a pipe.
//
// With --check it runs some of the benchmarks itself and compares their ratios,
// ours ÷ upstream, with those recorded in ratios.json for this processor. With
// --record it records them there. See --help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/kubelife/lifecycle/examples/process"
)

// The exit codes.
const (
	holds = iota
	fails
	calledWrongly
)

const usage = `Usage, from the root of the repository:

  go -C examples/e2e test ./bench -run '^$' -bench . -benchmem |
    go -C examples/e2e run ./bench/table
        Writes the results of benchmarks as a Markdown table.

  go -C examples/e2e run ./bench/table --check
        Runs the rows of examples/e2e/bench/ratios.json and compares each ratio,
        ours ÷ upstream, with the one recorded there for this processor. A row
        fails that takes more than 1.5 times the recorded ratio, twice in
        succession. Takes a minute on two quiet cores.

  go -C examples/e2e run ./bench/table --record
        Records the ratios of this machine under the name of its processor, and
        prints what changes. Takes three minutes. Say in the commit why an entry
        has changed: a row that became slower for a reason is raised, one that
        became faster is lowered, so that the check holds the gain.

How a ratio is measured: ours and upstream's are run one after the other for a
tenth of a second of CPU each, five times, each time in a new process. The ratio is that
of the best CPU time of each side (of the bytes, in a row about memory). Other
work on the machine disturbs both sides, and the best of five runs little. No
absolute time is judged. --record takes the median of three such ratios.

On a processor that ratios.json does not name, --check compares each row with the
loosest ratio that any processor has there, and says so.

Exit codes: 0 the table is complete, the check holds, the ratios are recorded;
1 a row is slower, or something could not be read or measured; 2 wrong arguments.
`

func main() {
	process.Main(func(ctx context.Context, args []string, out, complaints io.Writer) int {
		return command(ctx, args, os.Stdin, out, complaints)
	})
}

func command(ctx context.Context, args []string, in io.Reader, out, complaints io.Writer) int {
	var toCheck, toRecord bool
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the usage below is the whole help
	flags.BoolVar(&toCheck, "check", false, "")
	flags.BoolVar(&toRecord, "record", false, "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(out, usage)
		return holds
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case err == nil && toCheck && toRecord:
		err = errors.New("--check and --record exclude each other")
	}
	if err != nil {
		fmt.Fprintf(complaints, "table: %v\nSee --help.\n", err)
		return calledWrongly
	}

	switch {
	case toCheck:
		err = withBenchmarks(ctx, checkList, out, complaints)
	case toRecord:
		err = withBenchmarks(ctx, recordInList, out, complaints)
	default:
		err = run(in, out)
	}
	if err != nil {
		fmt.Fprintln(complaints, "table:", err)
		return fails
	}
	return holds
}

// run writes the results that it reads as a table.
func run(in io.Reader, out io.Writer) error {
	results := parse(in)
	if len(results.works) > 0 {
		if err := results.write(out); err != nil {
			return err
		}
	}
	return results.err()
}
