package sidebyside

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// coded is an error with the exit code that Main gives it.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// WithExitCode gives an error the code that Main exits with. Nil stays nil.
func WithExitCode(err error, code int) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

// ExitCode returns the code that Main exits with after an error.
func ExitCode(err error) int {
	if c := (coded{}); errors.As(err, &c) {
		return c.code
	}
	return 1
}

// Main runs a program that prints a table. It exits with 1 after an error, or
// with the code of WithExitCode. The first SIGINT or SIGTERM ends ctx, so the
// program prints what is known. The second ends it at once: signals act by
// default again before ctx ends.
func Main(name string, run func(ctx context.Context, args []string, out, diagnostics io.Writer) error) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(ExitCode(err))
	}
}
