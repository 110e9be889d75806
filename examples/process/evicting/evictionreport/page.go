package evictionreport

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubelife/lifecycle/eviction"
)

// Limit is how many pods a page lists unless the request says limit=N, and
// MaxLimit is the largest N.
const (
	Limit    = 1000
	MaxLimit = 10_000
)

// NewPage returns a page that lists the pods that wait to be evicted: when each
// has to leave and why, and what delays or holds it. Those that should have left the
// longest ago come first. It is text, or JSON with format=json; limit=N lists
// the first N, which is 1 to [MaxLimit]: a million rows would be gigabytes of
// memory.
//
// The state is read a part at a time, and left alone for three times as long as
// that took. So a million pods hold nothing up, and a page takes at most a
// quarter of the state's time. Each pod is listed as it was when its part was
// read. One that began to wait, or went, meanwhile may be missing or may be
// listed. The count of all is that of the beginning. Those that should have left
// by then are counted as they are read. One that is read twice, because others
// that went have moved it, counts twice. When the request's context
// ends first, the answer is 503. Serve it through serving.NewPage, for one
// caller at a time.
func NewPage(read Read) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		q, err := parse(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l, err := list(request.Context(), read, q.limit)
		if err != nil {
			http.Error(w, "not all pods could be read in time", http.StatusServiceUnavailable)
			return
		}
		if q.json {
			w.Header().Set("Content-Type", "application/json")
			writeJSON(w, l)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		writeText(w, l)
	})
}

type query struct {
	limit int
	json  bool
}

func parse(request *http.Request) (query, error) {
	q := query{limit: Limit}
	values := request.URL.Query()
	switch format := values.Get("format"); format {
	case "", "text":
	case "json":
		q.json = true
	default:
		return q, fmt.Errorf("format is %q, want text or json", format)
	}
	if text := values.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > MaxLimit {
			return q, fmt.Errorf("limit is %q, want a whole number from 1 to %d", text, MaxLimit)
		}
		q.limit = limit
	}
	return q, nil
}

// listing is what a page shows.
type listing struct {
	now              time.Time
	pending, overdue int
	pods             []eviction.Pending
}

// list takes the first pods of the state. It keeps no more than twice what it
// returns: there may be a million. It returns ctx's error when that ends first.
func list(ctx context.Context, read Read, limit int) (listing, error) {
	var l listing
	var nodes []string
	read(func(state State) {
		l.now, l.pending, nodes = time.Now(), state.Waiting(), state.Nodes()
	})
	first := first{limit: limit}
	part := make([]eviction.Pending, 0, atOnce)
	for len(nodes) > 0 {
		part = part[:0]
		var took time.Duration
		read(func(state State) {
			began := time.Now()
			for n := 0; len(nodes) > 0 && n+len(part) < atOnce; n++ {
				part = slices.AppendSeq(part, state.PendingOn(nodes[0]))
				nodes = nodes[1:]
			}
			took = time.Since(began)
		})
		for _, p := range part {
			if p.Decision.DueAt(l.now) {
				l.overdue++
			}
			first.take(p)
		}
		if err := pause(ctx, pauses*took); err != nil {
			return listing{}, err
		}
	}
	first.cut()
	l.pods = first.pods
	return l, nil
}

const (
	// atOnce is how many nodes and pods are read while nothing else uses the state,
	// except that a node is read as a whole.
	atOnce = 2000
	// pauses is for how many times as long others have the state to themselves.
	pauses = 3
)

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}

// first is the first pods of those taken.
type first struct {
	limit int
	pods  []eviction.Pending // up to twice as many, in any order
}

func (f *first) take(p eviction.Pending) {
	f.pods = append(f.pods, p)
	if len(f.pods) >= 2*f.limit {
		f.cut()
	}
}

// cut drops what is not among the first, and puts these in order.
func (f *first) cut() {
	slices.SortFunc(f.pods, func(a, b eviction.Pending) int { return compare(&a, &b) })
	f.pods = f.pods[:min(f.limit, len(f.pods))]
}

// compare orders pods by when they have to leave. One that need not leave any
// more, and whose action is under way, has time zero. Names make the order the same each time.
func compare(a, b *eviction.Pending) int {
	if c := a.Decision.Due.Compare(b.Decision.Due); c != 0 {
		return c
	}
	if c := strings.Compare(a.Pod.Namespace, b.Pod.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(a.Pod.Name, b.Pod.Name); c != 0 {
		return c
	}
	return strings.Compare(string(a.Pod.UID), string(b.Pod.UID))
}

func writeText(out io.Writer, l listing) {
	fmt.Fprintf(out, "%d pods wait to be evicted, %d of them should have left by now, %s.\n", l.pending, l.overdue,
		l.now.UTC().Format(time.RFC3339))
	if len(l.pods) < l.pending {
		fmt.Fprintf(out, "These are the first %d; limit=N shows N, up to %d.\n", len(l.pods), MaxLimit)
	}
	if len(l.pods) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LEAVES\tIN\tPOD\tNODE\tWHY\tSTATE")
	for i := range l.pods {
		p := &l.pods[i]
		leaves, in := "stays", ""
		if p.Decision.Leaves() {
			leaves, in = p.Decision.Due.UTC().Format(time.RFC3339), until(p.Decision.Due, l.now)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", leaves, in, p.Pod, p.Node, Why(p.Decision), stateOf(p, l.now))
	}
	if err := table.Flush(); err != nil {
		return // the client has gone
	}
}

// stateOf says what is happening to a pod.
func stateOf(p *eviction.Pending, now time.Time) string {
	var parts []string
	switch {
	case p.Acting:
		parts = append(parts, "under way")
	case p.Budget != "":
		parts = append(parts, "waits for budget "+p.Budget)
	case p.Hold != "":
		parts = append(parts, "waits for the end of hold "+p.Hold)
	case p.NextAttempt.After(p.Decision.Due) && p.NextAttempt.After(now):
		parts = append(parts, "is tried again in "+until(p.NextAttempt, now))
	}
	if p.Attempts > 0 {
		parts = append(parts, fmt.Sprintf("failed attempts: %d", p.Attempts))
	}
	if p.Err != nil {
		parts = append(parts, "last error: "+oneLine(p.Err))
	}
	return strings.Join(parts, ", ")
}

// oneLine returns an error without line breaks and tabs, which would break the
// table.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func until(at, now time.Time) string { return at.Sub(now).Round(100 * time.Millisecond).String() }

// The JSON form of a page. Times are RFC 3339; one that is not there is left
// out.
type pageJSON struct {
	Now     time.Time `json:"now"`
	Pending int       `json:"pending"`
	Overdue int       `json:"overdue"`
	Pods    []podJSON `json:"pods"`
}

type podJSON struct {
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	UID       string     `json:"uid"`
	Node      string     `json:"node"`
	Due       *time.Time `json:"due,omitempty"`
	Reason    string     `json:"reason"`
	Taint     string     `json:"taint,omitempty"`
	// TolerationSeconds is for how long the pod tolerates the taint.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
	Why               string `json:"why"`
	// Next is when its eviction is decided or tried next, if that is not now.
	Next     *time.Time `json:"next,omitempty"`
	Attempts int        `json:"attempts,omitempty"`
	// Error is that of the last attempt.
	Error  string `json:"error,omitempty"`
	Budget string `json:"budget,omitempty"`
	Hold   string `json:"hold,omitempty"`
	Acting bool   `json:"acting,omitempty"`
}

func writeJSON(out io.Writer, l listing) {
	page := pageJSON{Now: l.now, Pending: l.pending, Overdue: l.overdue, Pods: make([]podJSON, 0, len(l.pods))}
	for i := range l.pods {
		page.Pods = append(page.Pods, inJSON(&l.pods[i]))
	}
	if err := json.NewEncoder(out).Encode(page); err != nil {
		return // the client has gone
	}
}

func inJSON(p *eviction.Pending) podJSON {
	pod := podJSON{
		Namespace: p.Pod.Namespace, Name: p.Pod.Name, UID: string(p.Pod.UID), Node: p.Node,
		Due: at(p.Decision.Due), Reason: string(p.Decision.Reason), Why: Why(p.Decision),
		Next: at(p.NextAttempt), Attempts: p.Attempts, Budget: p.Budget, Hold: p.Hold, Acting: p.Acting,
	}
	if p.Err != nil {
		pod.Error = p.Err.Error()
	}
	if p.Decision.Taint.Key != "" {
		pod.Taint = p.Decision.Taint.ToString()
	}
	if p.Decision.Toleration != nil {
		pod.TolerationSeconds = p.Decision.Toleration.TolerationSeconds
	}
	return pod
}

func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
