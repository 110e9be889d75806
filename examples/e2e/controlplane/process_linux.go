package controlplane

import "syscall"

// processAttributes puts the process into a group of its own, so that Ctrl-C on
// the terminal reaches only us. It asks the kernel to kill the process when we
// die.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
