package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processAttributes puts the process into a group of its own, so that Ctrl-C on
// the terminal reaches only us. It asks the kernel to kill the process when we
// die.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// tick is the unit of times in /proc, whatever the kernel's own.
const tick = 10 * time.Millisecond

var errStat = errors.New("unknown format of /proc/PID/stat")

// cpuTimeOf returns what all threads of a process have used, user and system.
func cpuTimeOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

// isStopped reports whether a signal has stopped all threads of a process. One
// that has ended is not stopped.
func isStopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended meanwhile
		}
		if err != nil {
			return false, err
		}
		if fields := statFields(string(stat)); len(fields) == 0 || fields[0] != "T" {
			return false, nil
		}
	}
	return len(threads) > 0, nil
}

// statFields returns the fields of proc_pid_stat(5) from the third, the state.
// The name of the program, field 2, is in parentheses and may contain some.
func statFields(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

// parseStat reads the fields 14 and 15 of proc_pid_stat(5).
func parseStat(stat string) (time.Duration, error) {
	fields := statFields(stat)
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0, fmt.Errorf("%w: %q", errStat, stat)
	}
	var ticks int64
	for _, field := range []int{user, system} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %q", errStat, stat)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

var errStatus = errors.New("unknown format of /proc/PID/status")

// memoryOf returns the memory of a process.
func memoryOf(pid int) (Memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	return parseStatus(string(status))
}

// parseStatus reads VmRSS and VmHWM of proc_pid_status(5), which are in KiB. A
// process that has ended and was not waited for has neither.
func parseStatus(status string) (m Memory, err error) {
	if m.Resident, err = statusField(status, "VmRSS:"); err != nil {
		return Memory{}, err
	}
	if m.Peak, err = statusField(status, "VmHWM:"); err != nil {
		return Memory{}, err
	}
	return m, nil
}

func statusField(status, name string) (int64, error) {
	for line := range strings.Lines(status) {
		rest, found := strings.CutPrefix(line, name)
		if !found {
			continue
		}
		kib, found := strings.CutSuffix(strings.TrimSpace(rest), " kB")
		n, err := strconv.ParseInt(kib, 10, 64)
		if !found || err != nil {
			return 0, fmt.Errorf("%w: %q", errStatus, line)
		}
		return n << 10, nil
	}
	return 0, fmt.Errorf("%w: there is no %s", errStatus, name)
}
