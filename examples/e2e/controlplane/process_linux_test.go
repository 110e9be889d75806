package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCPUTimeOfAProcess(t *testing.T) {
	used, err := parseStat("12 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 250 51 14 15 16 17 18")
	require.NoError(t, err)
	require.Equal(t, 3010*time.Millisecond, used)
	for _, stat := range []string{"", "12 (a) S 1 2", "12 (a) S 1 2 3 4 5 6 7 8 9 10 x 51 14"} {
		_, err := parseStat(stat)
		require.ErrorIs(t, err, errStat, stat)
	}
}

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

func TestMemoryOfAProcess(t *testing.T) {
	memory, err := parseStatus("Name:\tsh\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t1\n")
	require.NoError(t, err)
	require.Equal(t, Memory{Resident: 1 << 20, Peak: 2 << 20}, memory)
	for _, status := range []string{
		"", "VmRSS:\t1 kB\n", "VmHWM:\t1 kB\n", "VmRSS:\t1\nVmHWM:\t1 kB\n", "VmRSS:\tx kB\nVmHWM:\t1 kB\n",
	} {
		_, err := parseStatus(status)
		require.ErrorIs(t, err, errStatus, status)
	}
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
