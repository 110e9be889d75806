// Command table reads what `go test -bench` prints and writes a Markdown table.
// A row has the two sides of a comparison of package bench.
//
// Of a benchmark that was run several times (-count) it shows the median. One
// that has failed says so, and the others are shown; the failures stand below
// the table. SIGINT and SIGTERM end the reading, and the table has what was
// read. The exit code is 1 when the input holds no results or the table is
// incomplete. A shell forgets the exit status of all but the last command of a
// pipe.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	err := run(ctx, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	results := parse(ctx, in)
	if len(results.works) > 0 {
		if err := results.write(out); err != nil {
			return err
		}
	}
	return results.err()
}
