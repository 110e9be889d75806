package controlplane

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Requests returns the requests that any of the filters selects, in the order in
// which they were received, over all restarts of the API server.
//
// It is exact. Every request whose answer any client has seen before the call
// is in it, once, with its code. See [Request] for a server that was killed. A
// request still under way at the call is waited for, until ctx ends with an
// error; a paused server keeps it waiting. Requests that come in later may be
// in it or not. It can also be called after Stop, if Config.Dir keeps the data.
func (cp *ControlPlane) Requests(ctx context.Context, filters ...Filter) ([]Request, error) {
	cp.mu.Lock()
	audits := slices.Clone(cp.audits)
	cp.mu.Unlock()
	var selected []Request
	for _, audit := range audits {
		requests, err := audit.requests(ctx, filters...)
		if err != nil {
			return nil, fmt.Errorf("counting requests: %w", err)
		}
		selected = append(selected, requests...)
	}
	slices.SortStableFunc(selected, func(a, b Request) int { return a.Received.Compare(b.Received) })
	return selected, nil
}

// auditLog reads the audit log of one run of the API server.
//
// A client may have its answer before the server has written the audit event of
// it. But the event of the request's reception is written before anything is
// done for it. So when all receptions that the file holds now have their
// answers, the file holds every answer that a client can have seen.
type auditLog struct {
	path  string
	alive func() bool // says whether the server that writes it runs

	mu     sync.Mutex
	offset int64          // what of the file has been read, in whole lines
	byID   map[string]int // index into all
	all    []Request      // in order of reception
	open   map[int]bool   // indices of those not answered yet, watches apart
}

func newAuditLog(path string, alive func() bool) *auditLog {
	return &auditLog{path: path, alive: alive, byID: map[string]int{}, open: map[int]bool{}}
}

// auditPeriod is how often the file is looked at for answers that are due any
// moment.
const auditPeriod = 5 * time.Millisecond

// requests returns the selected requests when those under way at the call are
// answered.
func (l *auditLog) requests(ctx context.Context, filters ...Filter) ([]Request, error) {
	awaited, _, err := l.read(0)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(auditPeriod)
	defer ticker.Stop()
	for {
		// Asked before reading: what a dead server has not written by then never
		// comes.
		dead := !l.alive()
		_, missing, err := l.read(awaited)
		if err != nil {
			return nil, err
		}
		if dead || missing == 0 {
			return l.selected(filters), nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d requests are not answered: %w", missing, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// read reads on. It returns how many requests were received, and how many of
// the first so many are not answered.
func (l *auditLog) read(first int) (received, missing int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.readOn(); err != nil {
		return 0, 0, err
	}
	for index := range l.open {
		if index < first {
			missing++
		}
	}
	return len(l.all), missing, nil
}

func (l *auditLog) selected(filters []Filter) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var selected []Request
	for _, request := range l.all {
		if slices.ContainsFunc(filters, func(f Filter) bool { return f.Matches(request) }) {
			selected = append(selected, request)
		}
	}
	return selected
}

// readOn reads what was written since the last time. It costs as much as there
// is new.
func (l *auditLog) readOn() error {
	file, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the server has not come so far
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a line without its end is read again when it has one
		}
		if err != nil {
			return err
		}
		if err := l.add(line); err != nil {
			return fmt.Errorf("%s at byte %d: %w", l.path, l.offset, err)
		}
		l.offset += int64(len(line))
	}
}

// add takes in one audit event.
func (l *auditLog) add(line []byte) error {
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return err
	}
	id := string(event.AuditID)
	index, known := l.byID[id]
	if !known {
		index = len(l.all)
		l.byID[id] = index
		l.all = append(l.all, Request{})
		// A watch is not waited for. It has no end, and its answer is logged before
		// it is sent.
		if event.Verb != "watch" {
			l.open[index] = true
		}
	}
	// A watch is answered twice: before it is sent, and at its end.
	if l.all[index].Answered.IsZero() {
		l.all[index] = requestOf(event)
	}
	if event.Stage != auditv1.StageRequestReceived {
		delete(l.open, index)
	}
	return nil
}

// requestOf is what the server knows of a request by now. The name of a created
// object is in the body, which it reads after the request has been logged as
// received.
func requestOf(event auditv1.Event) Request {
	r := Request{
		ID:        string(event.AuditID),
		Verb:      event.Verb,
		URI:       event.RequestURI,
		User:      event.User.Username,
		UserAgent: event.UserAgent,
		Received:  event.RequestReceivedTimestamp.Time,
	}
	if object := event.ObjectRef; object != nil {
		r.Group, r.Resource, r.Subresource = object.APIGroup, object.Resource, object.Subresource
		r.Namespace, r.Name = object.Namespace, object.Name
	}
	if event.Stage != auditv1.StageRequestReceived {
		r.Answered = event.StageTimestamp.Time
		if event.ResponseStatus != nil {
			r.Code = int(event.ResponseStatus.Code)
		}
	}
	return r
}
