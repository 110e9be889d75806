//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked says that another holder has the lock.
var errLocked = errors.New("locked by another process")

// fileLock is an exclusive lock between processes, and between goroutines of
// one. The kernel frees it when its holder dies.
type fileLock struct {
	file *os.File
}

// tryFileLock takes the lock at path, or returns errLocked at once.
func tryFileLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file, path); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &fileLock{file: file}, nil
}

// lockFile locks the file that was opened at path.
func lockFile(file *os.File, path string) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	// Between our open and our lock the holder may have released the lock, and
	// with it removed the file. Then we have locked a file that no other process
	// will find.
	if !sameFile(file, path) {
		return errLocked
	}
	return nil
}

// waitFileLock takes the lock at path, waiting for it until ctx ends. It calls
// onWait once if it has to wait.
func waitFileLock(ctx context.Context, path string, onWait func()) (*fileLock, error) {
	for first := true; ; first = false {
		lock, err := tryFileLock(path)
		if !errors.Is(err, errLocked) {
			return lock, err
		}
		if first {
			onWait()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// release gives the lock back and removes its file. Removing comes first: once
// unlocked the file may be another process's.
func (l *fileLock) release() {
	_ = os.Remove(l.file.Name())
	_ = l.file.Close()
}

func sameFile(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	if err != nil {
		return false
	}
	return os.SameFile(opened, named)
}
