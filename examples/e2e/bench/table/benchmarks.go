package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	benchPackage = "github.com/kubelife/lifecycle/examples/e2e/bench"
	// runsOfBest is of how many runs the best counts.
	runsOfBest = 5
	// benchtime is short, because more runs say more than longer ones.
	benchtime = "100ms"
	// longestRun is many times what a run takes on a busy machine.
	longestRun = "10m"
)

// benchmarks are the tests of package bench, built, and how to run them.
type benchmarks struct {
	folder, binary string
	progress       io.Writer
}

// withBenchmarks calls do with the list and the benchmarks of the module in the
// current folder.
func withBenchmarks(
	ctx context.Context, do func(ctx context.Context, path string, measure measure, out io.Writer) error,
	out, progress io.Writer,
) error {
	scratch, err := os.MkdirTemp("", "bench-table-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()

	b := &benchmarks{binary: filepath.Join(scratch, "bench.test"), progress: progress}
	var folder strings.Builder
	if err := b.execute(ctx, &folder, "go", "list", "-f", "{{.Dir}}", benchPackage); err != nil {
		return fmt.Errorf("%w (run it in examples/e2e, as --help shows)", err)
	}
	b.folder = strings.TrimSpace(folder.String())
	if err := b.execute(ctx, progress, "go", "test", "-c", "-o", b.binary, benchPackage); err != nil {
		return err
	}
	return do(ctx, filepath.Join(b.folder, "ratios.json"), b.best, out)
}

// best runs the benchmarks of rows several times. In a run the two sides of a
// row follow each other, so they see the same load. Each run is a new process,
// so no row depends on where one process happens to have its memory.
func (b *benchmarks) best(ctx context.Context, rows []string) (*results, error) {
	pattern, err := patternOf(rows)
	if err != nil {
		return nil, err
	}
	var output strings.Builder
	for i := range runsOfBest {
		started := time.Now()
		if err := b.execute(ctx, &output, b.binary, "-test.run=^$", "-test.bench="+pattern,
			"-test.benchtime="+benchtime, "-test.timeout="+longestRun); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, output.String())
		}
		fmt.Fprintf(b.progress, "table: run %d of %d: %d rows in %.0f s\n",
			i+1, runsOfBest, len(rows), time.Since(started).Seconds())
	}
	results := parse(strings.NewReader(output.String()))
	return results, results.err()
}

// execute runs a command in the folder of the benchmarks, once that is known.
func (b *benchmarks) execute(
	ctx context.Context, out io.Writer, name string, args ...string,
) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Stdout, command.Stderr = b.folder, out, b.progress
	// The go command passes the signal on to what it has started.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), args[0], err)
	}
	return ctx.Err()
}

// patternOf returns what -bench needs to run rows, which are named as in the
// table: group, comparison, size.
func patternOf(rows []string) (string, error) {
	patterns := make([]string, len(rows))
	for i, row := range rows {
		group, rest, ok := strings.Cut(row, ": ")
		at := strings.LastIndex(rest, ", ")
		if !ok || at < 0 {
			return "", fmt.Errorf(`%q is not the name of a row, as "Queue: remove a key, waiting=10" is`, row)
		}
		exactly := func(name string) string {
			return "^" + regexp.QuoteMeta(strings.ReplaceAll(name, " ", "_")) + "$"
		}
		patterns[i] = fmt.Sprintf("%s/%s/^(%s|%s)$/%s", exactly("Benchmark"+group), exactly(rest[:at]),
			ours, upstream, exactly(rest[at+2:]))
	}
	return strings.Join(patterns, "|"), nil
}
