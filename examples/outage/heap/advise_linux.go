//go:build amd64 || arm64

package heap

import "golang.org/x/sys/unix"

// advise takes so much memory and gives the hint. A kernel that does not know
// it goes on as before.
func advise(size uint64) {
	for _, memory := range untouched(size) {
		_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
	}
}
