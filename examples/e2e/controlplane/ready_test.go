//go:build unix

package controlplane

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWaitingForReadyEndsWithTheProcess(t *testing.T) {
	process := shell(t, `echo ready; echo broken for a reason; exit 3`)
	err := waitReady(t.Context(), process, func(context.Context) error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "broken for a reason") {
		t.Errorf("got %v, want the exit status and the log", err)
	}
	if errors.Is(err, errPortTaken) {
		t.Error("it is taken for a taken port")
	}
}

func TestWaitingForReadyEndsWithTheContextAndSaysTheLastAnswer(t *testing.T) {
	process := shell(t, `echo ready; exec sleep 1000`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	refused := errors.New("refused")
	calls := 0
	err := waitReady(ctx, process, func(ctx context.Context) error {
		if calls++; calls < 3 {
			return refused
		}
		<-ctx.Done() // a server that accepts and says nothing
		return ctx.Err()
	})
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, refused) {
		t.Errorf("got %v, want the context's error and the last answer", err)
	}
}
