package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// TestMain lets the test binary be a program that waits for a signal, one that
// does not end by it, or one that logs.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCESS_TEST_PROGRAM") {
	case "":
		os.Exit(m.Run())
	case "logs":
		Main(scribe)
	}
	Main(func(ctx context.Context, args []string, out, _ io.Writer) int {
		fmt.Fprintln(out, "waits", args)
		<-ctx.Done()
		fmt.Fprintln(out, "ends")
		if os.Getenv("PROCESS_TEST_PROGRAM") == "stubborn" {
			select {}
		}
		return 7
	})
}

// SIGTERM ends the context, and what run returns is the exit code.
func TestMainEndsInOrderOnASignal(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		program := signaled(t, "yes", signal)
		require.Error(t, program.Wait())
		require.Equal(t, 7, program.ProcessState.ExitCode())
	}
}

// A second signal ends the process at once, whatever run does.
func TestTheSecondSignalEndsTheProcess(t *testing.T) {
	program := signaled(t, "stubborn", os.Interrupt)
	require.NoError(t, program.Process.Signal(syscall.SIGTERM))
	require.Error(t, program.Wait())
	status, ok := program.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGTERM, status.Signal())
}

// signaled starts the test binary as a program, and sends it a signal. It
// returns when the context of the program has ended.
func signaled(t *testing.T, as string, signal os.Signal) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	program := exec.CommandContext(ctx, os.Args[0], "x")
	program.Env = append(os.Environ(), "PROCESS_TEST_PROGRAM="+as)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "waits [x]", lines.Text())
	require.NoError(t, program.Process.Signal(signal))
	require.True(t, lines.Scan())
	require.Equal(t, "ends", lines.Text())
	return program
}

// colour is a program's own flag.
type colour struct{ name string }

func (c *colour) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.name, "colour", "red", "The colour.")
}

func (c *colour) Check(checks *commandline.Checks) {
	checks.That(c.name != "", "--colour is empty")
}

func execute(t *testing.T, result error, args ...string) (code int, ran *pflag.FlagSet, out, diagnostics string) {
	t.Helper()
	var written, told bytes.Buffer
	command := &Command{
		Process:  &commandline.Process{Name: "painter", Port: 1},
		Settings: new(colour),
		Intro:    "painter paints.\n",
		Run: func(_ context.Context, flags *pflag.FlagSet, out io.Writer) error {
			ran = flags
			fmt.Fprint(out, "painted")
			return result
		},
	}
	code = command.Execute(t.Context(), args, &written, &told)
	return code, ran, written.String(), told.String()
}

func TestCommandRunsWithItsFlags(t *testing.T) {
	code, ran, out, diagnostics := execute(t, nil, "--colour=blue")
	require.Zero(t, code)
	require.True(t, ran.Changed("colour"))
	require.False(t, ran.Changed("master"))
	require.Equal(t, "painted", out)
	require.Empty(t, diagnostics)
}

func TestCommandTellsThatItFailed(t *testing.T) {
	code, _, _, diagnostics := execute(t, errors.New("no paint"))
	require.Equal(t, ExitFailed, code)
	require.Equal(t, "painter: no paint\n", diagnostics)
}

// A wrong call runs nothing.
func TestWrongCalls(t *testing.T) {
	for _, test := range []struct {
		says string
		args []string
	}{
		{"unknown flag: --nope", []string{"--nope"}},
		{"takes no arguments, got [\"house\"]", []string{"house"}},
		{"--colour is empty", []string{"--colour="}},
		{"--secure-port is -1, want 0 to 65535\n--colour is empty", []string{"--secure-port=-1", "--colour="}},
	} {
		code, ran, out, diagnostics := execute(t, nil, test.args...)
		require.Equal(t, ExitUsage, code, test.args)
		require.Nil(t, ran)
		require.Empty(t, out)
		require.Equal(t, "painter: "+test.says+"\nRun with --help for the flags.\n", diagnostics)
	}
}

func TestHelpTeaches(t *testing.T) {
	code, ran, out, diagnostics := execute(t, nil, "--help")
	require.Zero(t, code)
	require.Nil(t, ran)
	require.Empty(t, diagnostics)
	require.True(t, strings.HasPrefix(out, "painter paints.\n\nTo stop all"), out)
	for _, want := range []string{"--kubeconfig", "--colour", "Exit codes",
		"kubectl -n kube-system annotate lease painter lifecycle.kubelife.io/halt=why\n",
		"kubectl -n kube-system annotate lease painter lifecycle.kubelife.io/halt-\n", "\nFlags:\n"} {
		require.Contains(t, out, want)
	}
}
