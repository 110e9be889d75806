package programtest

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// variable tells the test binary that it is the program.
	variable = "LIFECYCLE_TEST_PROGRAM"
	// patience is how long a program may run on a machine that is busy.
	patience = 2 * time.Minute
)

// Main runs the tests of a program, or the program itself in a process of
// Start. The program ends the process.
func Main(m *testing.M, program func()) {
	if os.Getenv(variable) == "" {
		os.Exit(m.Run())
	}
	program()
}

// Child is the test binary as the program, in a process of its own. It is
// killed if it runs for two minutes.
type Child struct {
	t           *testing.T
	command     *exec.Cmd
	diagnostics bytes.Buffer
	// Out is the standard output. It is read to its end before Wait.
	Out io.Reader
}

// Start starts the program, for tests whose TestMain is Main.
func Start(t *testing.T, args ...string) *Child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	child := &Child{t: t, command: exec.CommandContext(ctx, os.Args[0], args...)}
	child.command.Env = append(os.Environ(), variable+"=yes")
	child.command.Stderr = &child.diagnostics
	var err error
	child.Out, err = child.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.command.Start())
	t.Cleanup(func() {
		cancel()
		_ = child.command.Wait() // an error says that it was waited for
	})
	return child
}

// Signal sends SIGTERM.
func (c *Child) Signal() {
	c.t.Helper()
	require.NoError(c.t, c.command.Process.Signal(syscall.SIGTERM))
}

// Wait wants that the program ends with this exit code, and returns what it
// wrote to standard error.
func (c *Child) Wait(code int) string {
	c.t.Helper()
	_, err := io.Copy(io.Discard, c.Out)
	require.NoError(c.t, err)
	_ = c.command.Wait() // an error says the exit code again
	require.Equal(c.t, code, c.command.ProcessState.ExitCode(), "%s", &c.diagnostics)
	return c.diagnostics.String()
}

// Terminate is Signal, and Wait for exit code 0.
func (c *Child) Terminate() string {
	c.t.Helper()
	c.Signal()
	return c.Wait(0)
}
