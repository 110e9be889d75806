package controlplane

import (
	"errors"
	"fmt"
	"net"
	"testing"
)

func TestReservedPortsDifferAndAreFree(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		p, err := reservePort()
		if err != nil {
			t.Fatal(err)
		}
		defer p.release()
		if seen[p.number] {
			t.Fatalf("port %d was given twice", p.number)
		}
		seen[p.number] = true
		if !canListen(p.number) {
			t.Errorf("port %d is not free", p.number)
		}
	}
}

// A program that knows nothing of the locks takes the port between the look and
// the start.
func TestATakenPortIsReplaced(t *testing.T) {
	var given []int
	p, err := onFreePort(t.Context(), func(number int) error {
		given = append(given, number)
		if len(given) < 3 {
			return fmt.Errorf("listening: %w", errPortTaken)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	if len(given) != 3 || p.number != given[2] {
		t.Errorf("tried %v and kept %d, want the third of three", given, p.number)
	}
}

func TestOtherErrorsAreNotTriedAgain(t *testing.T) {
	broken := errors.New("broken")
	tries := 0
	_, err := onFreePort(t.Context(), func(int) error { tries++; return broken })
	if !errors.Is(err, broken) || tries != 1 {
		t.Errorf("got %v after %d tries, want one try and its error", err, tries)
	}
}

// The words by which a taken port is recognised in a log are the system's.
func TestTheSystemsWordsForATakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	log := t.TempDir() + "/log"
	process, err := StartProcess(Command{Path: "/bin/sh",
		Args: []string{"-c", `echo "$0" >&2; exit 1`, listenError(t, listener)}, LogFile: log})
	if err != nil {
		t.Fatal(err)
	}
	_ = process.Wait(t.Context())
	if err := exitedEarly(process); !errors.Is(err, errPortTaken) {
		t.Errorf("got %v, want errPortTaken", err)
	}
}

func listenError(t *testing.T, taken net.Listener) string {
	t.Helper()
	second, err := net.Listen("tcp", taken.Addr().String())
	if err == nil {
		_ = second.Close()
		t.Fatal("two listeners on one port")
	}
	return err.Error()
}
