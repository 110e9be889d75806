package sidebyside

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// program makes the test binary one of these programs.
const program = "SIDEBYSIDE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(program) {
	case "obedient":
		Main("obedient", func(ctx context.Context, _ []string, out, _ io.Writer) error {
			fmt.Fprintln(out, "begun")
			<-ctx.Done()
			fmt.Fprintln(out, "known")
			return ErrIncomplete
		})
	case "stubborn":
		Main("stubborn", func(ctx context.Context, _ []string, out, _ io.Writer) error {
			fmt.Fprintln(out, "begun")
			<-ctx.Done()
			fmt.Fprintln(out, "known")
			select {}
		})
	case "exact":
		Main("exact", func(context.Context, []string, io.Writer, io.Writer) error {
			return fmt.Errorf("more: %w", WithExitCode(ErrIncomplete, 2))
		})
	case "helpful":
		Main("helpful", func(context.Context, []string, io.Writer, io.Writer) error {
			return fmt.Errorf("flags: %w", flag.ErrHelp)
		})
	default:
		os.Exit(m.Run())
	}
}

// start starts a program and returns it with the lines of its output.
func start(t *testing.T, name string) (*exec.Cmd, *bufio.Scanner, *strings.Builder) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), program+"="+name)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var diagnostics strings.Builder
	cmd.Stderr = &diagnostics
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out), &diagnostics
}

func expectLine(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	require.True(t, lines.Scan(), "want %s", want)
	require.Equal(t, want, lines.Text())
}

func TestASignalLetsAProgramPrintWhatIsKnown(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, lines, diagnostics := start(t, "obedient")
		expectLine(t, lines, "begun")
		require.NoError(t, cmd.Process.Signal(signal))
		expectLine(t, lines, "known")
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		require.Equal(t, 1, exit.ExitCode())
		require.Equal(t, "obedient: the table is incomplete\n", diagnostics.String())
	}
}

func TestTheSecondSignalEndsAProgramAtOnce(t *testing.T) {
	cmd, lines, _ := start(t, "stubborn")
	expectLine(t, lines, "begun")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	expectLine(t, lines, "known")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGTERM, status.Signal())
}

func TestAskingForHelpIsNoError(t *testing.T) {
	cmd, _, diagnostics := start(t, "helpful")
	require.NoError(t, cmd.Wait())
	require.Empty(t, diagnostics.String())
}

func TestAnErrorCanHaveAnExitCode(t *testing.T) {
	cmd, _, diagnostics := start(t, "exact")
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 2, exit.ExitCode())
	require.Equal(t, "exact: more: the table is incomplete\n", diagnostics.String())
	require.NoError(t, WithExitCode(nil, 2))
	require.ErrorIs(t, WithExitCode(ErrIncomplete, 2), ErrIncomplete)
}
