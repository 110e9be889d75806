//go:build unix

package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryFileLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryFileLock(path); !errors.Is(err, errLocked) {
		t.Fatalf("a second holder got %v, want errLocked", err)
	}
	held.release()
	again, err := tryFileLock(path)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	again.release()
}

// The holder removes the file with the lock. A process may have opened the file
// before that. It must not take the lock of a file that is gone, next to the
// holder of the new one.
func TestALockOfARemovedFileIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := tryFileLock(path)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	first.release()
	second, err := tryFileLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.release()
	if err := lockFile(opened, path); !errors.Is(err, errLocked) {
		t.Errorf("a removed file was locked next to the new one: %v", err)
	}
}

func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryFileLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := waitFileLock(ctx, path, func() { told++ }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	if told != 1 {
		t.Errorf("told %d times that it waits, want once", told)
	}
}
