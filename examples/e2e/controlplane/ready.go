package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	readyPeriod  = 50 * time.Millisecond
	probeTimeout = 5 * time.Second
	tailLines    = 20
)

// waitReady calls probe until it returns nil, and gives it five seconds each
// time: a server may accept a connection and say nothing. It gives up as soon
// as the process has exited or ctx has ended; its error then carries the end of
// the process's log.
func waitReady(ctx context.Context, process *Process, probe func(context.Context) error) error {
	ticker := time.NewTicker(readyPeriod)
	defer ticker.Stop()
	last := errors.New("nothing yet")
	for {
		err := probeOnce(ctx, probe)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil { // else err says only that ctx has ended
			last = err
		}
		select {
		case <-process.Exited():
			return exitedEarly(process)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; the last answer: %w\n%s",
				process.name, context.Cause(ctx), last, process.LogTail(tailLines))
		case <-ticker.C:
		}
	}
}

func probeOnce(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return probe(ctx)
}

// exitedEarly is the error of a process that ended instead of becoming ready.
// It wraps errPortTaken if that was the reason, which only the log tells.
func exitedEarly(process *Process) error {
	tail := process.LogTail(tailLines)
	reason := fmt.Errorf("%s ended before it was ready (%v)", process.name, process.cmd.ProcessState)
	if strings.Contains(tail, errPortTaken.Error()) {
		reason = fmt.Errorf("%w: %w", reason, errPortTaken)
	}
	return fmt.Errorf("%w\n%s", reason, tail)
}
