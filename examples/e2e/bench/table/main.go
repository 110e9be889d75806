// Command table reads what `go test -bench` prints and writes a Markdown table
// with the two sides of each comparison of package bench in one row.
//
// Of a benchmark that was run several times (-count) it shows the median. It
// exits with 1 when the input holds no results or says that a test failed, since
// a shell forgets the exit status of all but the last command of a pipe.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	results, err := parse(in)
	if err != nil {
		return err
	}
	return results.write(out)
}
