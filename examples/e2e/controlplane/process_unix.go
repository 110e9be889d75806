//go:build unix && !linux

package controlplane

import (
	"errors"
	"syscall"
	"time"
)

// processAttributes puts the process into a group of its own, so that Ctrl-C on
// the terminal reaches us and not it. Only Linux kills it when we die.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// isStopped is known on Linux only; elsewhere the signal must do.
func isStopped(int) (bool, error) { return true, nil }

// cpuTimeOf is known on Linux only.
func cpuTimeOf(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// memoryOf is known on Linux only.
func memoryOf(int) (Memory, error) { return Memory{}, errors.ErrUnsupported }
