package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server's audit log, written by the test.
type writtenLog struct {
	t     *testing.T
	path  string
	alive bool
	*auditLog
}

func newWrittenLog(t *testing.T) *writtenLog {
	w := &writtenLog{t: t, path: filepath.Join(t.TempDir(), "audit.log"), alive: true}
	w.auditLog = newAuditLog(w.path, func() bool { return w.alive })
	return w
}

func (w *writtenLog) write(text string) {
	w.t.Helper()
	file, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		w.t.Fatal(err)
	}
}

const (
	receivedStage = "RequestReceived"
	startedStage  = "ResponseStarted"
	completeStage = "ResponseComplete"
)

// event is one line of the log.
func event(id, stage, verb string, code int) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":%q,"stage":%q,`+
		`"requestURI":"/api/v1/namespaces/shop/pods/cart/status","verb":%q,"user":{"username":"alice"},`+
		`"userAgent":"nodelifecycle/v1 (linux)",`+
		`"objectRef":{"resource":"pods","namespace":"shop","name":"cart","apiVersion":"v1","subresource":"status"},`+
		`"responseStatus":{"code":%d},"requestReceivedTimestamp":"2026-01-02T03:04:05.000006Z",`+
		`"stageTimestamp":"2026-01-02T03:04:06.000007Z"}`+"\n",
		id, stage, verb, code)
}

func codes(requests []Request) map[string]int {
	codes := map[string]int{}
	for _, request := range requests {
		codes[request.ID] = request.Code
	}
	return codes
}

func (w *writtenLog) want(want map[string]int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	requests, err := w.requests(ctx, Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	if got := codes(requests); len(requests) != len(want) || !maps.Equal(got, want) {
		w.t.Errorf("got %v, want %v", got, want)
	}
}

func TestRequestHasWhatTheLogSays(t *testing.T) {
	log := newWrittenLog(t)
	log.write(event("a", receivedStage, "patch", 0) + event("a", completeStage, "patch", 200))
	requests, err := log.requests(t.Context(), Filter{})
	if err != nil || len(requests) != 1 {
		t.Fatalf("got %v, %v, want one request", requests, err)
	}
	want := Request{
		ID: "a", Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "shop", Name: "cart",
		URI: "/api/v1/namespaces/shop/pods/cart/status", User: "alice", UserAgent: "nodelifecycle/v1 (linux)", Code: 200,
		Received: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Answered: time.Date(2026, 1, 2, 3, 4, 6, 7000, time.UTC),
	}
	got := requests[0]
	got.Received, got.Answered = got.Received.UTC(), got.Answered.UTC()
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestARequestUnderWayIsWaitedFor(t *testing.T) {
	log := newWrittenLog(t)
	log.write(event("a", receivedStage, "patch", 0))
	time.AfterFunc(100*time.Millisecond, func() {
		log.write(event("a", completeStage, "patch", 409))
	})
	log.want(map[string]int{"a": 409})
}

func TestARequestThatComesLaterIsNotWaitedFor(t *testing.T) {
	log := newWrittenLog(t)
	log.write(event("a", receivedStage, "patch", 0))
	time.AfterFunc(100*time.Millisecond, func() {
		log.write(event("b", receivedStage, "patch", 0) + event("a", completeStage, "patch", 200))
	})
	log.want(map[string]int{"a": 200, "b": 0})
}

func TestWaitingForAnAnswerEndsWithTheContext(t *testing.T) {
	log := newWrittenLog(t)
	log.write(event("a", receivedStage, "patch", 0))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := log.requests(ctx, Filter{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestADeadServerAnswersNoMore(t *testing.T) {
	log := newWrittenLog(t)
	log.alive = false
	log.write(event("a", receivedStage, "patch", 0) + event("b", receivedStage, "delete", 0) +
		event("b", completeStage, "delete", 200))
	log.want(map[string]int{"a": 0, "b": 200})
}

func TestAWatchIsAnsweredWhenItStarts(t *testing.T) {
	log := newWrittenLog(t)
	log.write(event("a", receivedStage, "watch", 0))
	log.want(map[string]int{"a": 0})
	log.write(event("a", startedStage, "watch", 200))
	log.want(map[string]int{"a": 200})
	log.write(strings.Replace(event("a", completeStage, "watch", 200), "03:04:06", "03:09:06", 1))
	log.want(map[string]int{"a": 200})
	requests, err := log.requests(t.Context(), Filter{})
	if err != nil || requests[0].Answered.Minute() != 4 {
		t.Errorf("got %v, %v, want the answer of its beginning", requests, err)
	}
}

func TestALineIsReadWhenItIsWhole(t *testing.T) {
	log := newWrittenLog(t)
	second := event("b", completeStage, "patch", 201)
	log.write(event("a", completeStage, "patch", 200) + second[:100])
	log.want(map[string]int{"a": 200})
	log.write(second[100:])
	log.want(map[string]int{"a": 200, "b": 201})
}

func TestALogThatDoesNotExistYetIsEmpty(t *testing.T) {
	newWrittenLog(t).want(map[string]int{})
}

func TestADamagedLogIsAnError(t *testing.T) {
	log := newWrittenLog(t)
	log.write("not an event\n")
	if _, err := log.requests(t.Context(), Filter{}); err == nil || !strings.Contains(err.Error(), log.path) {
		t.Errorf("got %v, want an error that names the file", err)
	}
}
