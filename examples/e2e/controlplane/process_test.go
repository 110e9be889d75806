//go:build unix

package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The test binary runs itself with this set, to have a parent that can be
// killed.
const asParent = "CONTROLPLANE_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asParent); dir != "" {
		if err := beParent(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		select {} // until killed
	}
	os.Exit(m.Run())
}

// beParent starts a process and prints its id.
func beParent(dir string) error {
	process, err := StartProcess(Command{Path: "/bin/sleep", Args: []string{"1000"},
		LogFile: filepath.Join(dir, "child.log")})
	if err != nil {
		return err
	}
	fmt.Println(process.PID())
	return nil
}

func TestProcessIsKilledWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux promises it")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent printed %q", line)
	}
	if !exists(child) {
		t.Fatal("the child does not run, the test proves nothing")
	}

	_ = parent.Process.Kill()
	_ = parent.Wait()
	eventually(t, "the child is gone", func() bool { return !exists(child) })
}

// The kernel takes the thread that started a process for its parent. Here those
// threads end, as Go ends the thread of a locked goroutine that returns. There
// are several, because the program's first thread, which may be one of them,
// never ends.
func TestProcessOutlivesTheThreadThatAskedForIt(t *testing.T) {
	var group sync.WaitGroup
	var processes [4]*Process
	dir := t.TempDir()
	for i := range processes {
		group.Go(func() {
			runtime.LockOSThread()
			process, err := StartProcess(Command{Path: "/bin/sleep", Args: []string{"1000"},
				LogFile: filepath.Join(dir, strconv.Itoa(i))})
			if err != nil {
				t.Error(err)
				return
			}
			processes[i] = process
			t.Cleanup(process.Kill)
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for _, process := range processes {
		if err := process.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended: %v", err)
		}
	}
}

func TestKillReturnsWhenItIsGone(t *testing.T) {
	process := shell(t, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	process.Kill()
	if process.Running() || exists(process.PID()) {
		t.Error("it runs after Kill")
	}
}

func TestStopIsKindFirst(t *testing.T) {
	process := shell(t, `trap 'echo goodbye; exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	process.Stop(10 * time.Second)
	var status *exec.ExitError
	if err := process.Wait(t.Context()); !errors.As(err, &status) || status.ExitCode() != 7 {
		t.Errorf("it ended with %v, want its own exit status", err)
	}
	if tail := process.LogTail(1); !strings.HasSuffix(tail, "goodbye") {
		t.Errorf("the log ends in %q", tail)
	}
}

func TestStopKillsWhatDoesNotObey(t *testing.T) {
	process := shell(t, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	process.Stop(100 * time.Millisecond)
	if signal := process.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); signal != syscall.SIGKILL {
		t.Errorf("it ended by %v", signal)
	}
}

func TestStopWakesAPausedProcess(t *testing.T) {
	process := shell(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	if err := process.Pause(); err != nil {
		t.Fatal(err)
	}
	process.Stop(10 * time.Second)
	if code := process.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit status %d: it was killed, not asked", code)
	}
}

// TestAPausedProcessDoesNothing: from the return of Pause on, not some moments
// later.
func TestAPausedProcessDoesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells when a process has stopped")
	}
	process := shell(t, `echo ready; while :; do echo and on; done`)
	for range 200 {
		if err := process.Pause(); err != nil {
			t.Fatal(err)
		}
		written := logSize(t, process)
		time.Sleep(time.Millisecond)
		if later := logSize(t, process); later != written {
			t.Fatalf("it wrote %d bytes after it was paused", later-written)
		}
		if err := process.Resume(); err != nil {
			t.Fatal(err)
		}
	}
}

func logSize(t *testing.T, process *Process) int64 {
	t.Helper()
	info, err := os.Stat(process.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestAfterTheExitNothingHappens(t *testing.T) {
	process := shell(t, `echo ready`)
	if err := process.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	process.Kill()
	process.Stop(time.Hour)
	for name, call := range map[string]func() error{
		"signal": func() error { return process.Signal(syscall.SIGTERM) },
		"pause":  process.Pause, "resume": process.Resume,
	} {
		if err := call(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: got %v, want os.ErrProcessDone", name, err)
		}
	}
}

func TestACommandThatCannotBeExecuted(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := StartProcess(Command{Path: missing, LogFile: missing + ".log"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
	if _, err := StartProcess(Command{Path: "/bin/sh"}); err == nil {
		t.Error("a command without a log file was started")
	}
}

func TestLogTailIsTheEndOfALongLog(t *testing.T) {
	process := shell(t, `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done; echo ready`)
	_ = process.Wait(t.Context())
	want := "last lines of " + process.LogFile() + ":\nline 20000\nready"
	if tail := process.LogTail(2); tail != want {
		t.Errorf("got %q, want %q", tail, want)
	}
}

// shell runs a script that must print "ready" before anything can be asked of
// it.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	process, err := StartProcess(Command{Path: "/bin/sh", Args: []string{"-c", script}, LogFile: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	eventually(t, "the script is ready", func() bool {
		content, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(content), "ready\n")
	})
	return process
}

// exists says whether a process has the id. A zombie, which only waits for its
// parent to look, does not count.
func exists(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(status), ") Z ")
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute: " + what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
