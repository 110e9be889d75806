package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCPUTimeIsKnownWhileAProcessRunsAndAfter: it grows, and a killed process
// keeps it.
func TestCPUTimeIsKnownWhileAProcessRunsAndAfter(t *testing.T) {
	process, err := StartProcess(Command{
		Path: "/bin/sh", Args: []string{"-c", "while :; do :; done"}, LogFile: filepath.Join(t.TempDir(), "log"),
	})
	require.NoError(t, err)
	defer process.Kill()
	var running time.Duration
	require.Eventually(t, func() bool {
		running, err = process.CPUTime()
		return err == nil && running > 0
	}, time.Minute, tick)
	process.Kill()
	ended, err := process.CPUTime()
	require.NoError(t, err)
	require.GreaterOrEqual(t, ended, running)
	require.Error(t, process.Wait(context.Background()))
}

// TestMemoryIsKnownWhileAProcessRuns: the most that this process has had is at
// least what it has.
func TestMemoryIsKnownWhileAProcessRuns(t *testing.T) {
	process, err := StartProcess(Command{
		Path: "/bin/sh", Args: []string{"-c", "while :; do :; done"}, LogFile: filepath.Join(t.TempDir(), "log"),
	})
	require.NoError(t, err)
	defer process.Kill()
	memory, err := process.Memory()
	require.NoError(t, err)
	require.Positive(t, memory.Resident)
	require.GreaterOrEqual(t, memory.Peak, memory.Resident)
	process.Kill()
	_, err = process.Memory()
	require.ErrorIs(t, err, os.ErrProcessDone)
}
