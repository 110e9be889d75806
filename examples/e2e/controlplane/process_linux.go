package controlplane

import (
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// processAttributes puts the process into a group of its own, so that Ctrl-C on
// the terminal reaches only us. It asks the kernel to kill the process when we
// die.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isStopped reports whether a signal has stopped all threads of a process. One
// that has ended is not stopped.
func isStopped(pid int) (bool, error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil && !isGone(err) {
		return false, err
	}
	for _, thread := range threads {
		stat, err := thread.Stat()
		if isGone(err) {
			continue // the thread has ended meanwhile
		}
		if err != nil || stat.State != "T" {
			return false, err
		}
	}
	return len(threads) > 0, nil
}

// tick is the unit of times in /proc, whatever the kernel's own.
const tick = 10 * time.Millisecond

// cpuTimeOf returns what all threads of a process have used, user and system.
func cpuTimeOf(pid int) (time.Duration, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := process.Stat()
	return time.Duration(stat.UTime+stat.STime) * tick, err
}

// memoryOf returns the memory of a process.
func memoryOf(pid int) (Memory, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Memory{}, err
	}
	status, err := process.NewStatus()
	return Memory{Resident: int64(status.VmRSS), Peak: int64(status.VmHWM)}, err
}
