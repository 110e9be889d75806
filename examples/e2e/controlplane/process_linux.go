package controlplane

import "syscall"

// processAttributes puts the process into a group of its own, so that Ctrl-C on
// the terminal reaches us and not it, and asks the kernel to kill it when we
// die.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
