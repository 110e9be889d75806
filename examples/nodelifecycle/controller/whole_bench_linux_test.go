package controller_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// BenchmarkWhole is the whole controller with 100,000 nodes and 1,000,000 pods;
// see the package comment. With -short it is a tenth of that. Times are CPU
// time of the turns.
func BenchmarkWhole(b *testing.B) {
	if testing.Short() {
		wholeNodes = 10_000
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		wholeLife(b)
	}
	b.ReportMetric(0, "ns/op")
}

// wholeLife is what happens to the cluster, from the start of the program on.
func wholeLife(b *testing.B) {
	before := heapInUse()
	w := newWhole(b)
	w.create()
	b.ReportMetric(gib(heapInUse()-before), "GiB/objects")
	w.fill()
	b.ReportMetric(gib(heapInUse()-before), "GiB/heap")
	w.tell("start")
	w.pass(graceOf + 2*time.Second) // all grace periods come up together
	w.tell("first grace period")
	w.quiet()

	w.loseAZone()
	w.pass(2 * time.Minute) // declared, tainted, its pods marked, some evicted
	w.page()
	w.tell("a third is lost")

	w.restart()
	w.fill()
	w.pass(graceOf + 2*time.Second)
	w.tell("takeover")

	for i := range w.lost {
		w.lost[i] = true
	}
	w.pass(graceOf + 20*time.Second) // suspended, and part of it written
	w.page()
	require.Equal(b, "Suspended", string(w.c.Phase()))
	w.tell("all are lost")

	clear(w.lost)
	w.pass(graceOf + 20*time.Second)
	w.page()
	require.Equal(b, "Active", string(w.c.Phase()))
	w.tell("all are back")

	b.ReportMetric(milliseconds(slices.Max(slices.Collect(maps.Values(w.everLongest)))), "ms/longest-turn")
	runtime.KeepAlive(w)
}

func gib(bytes int) float64 { return float64(bytes) / (1 << 30) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// tell logs the longest turns of a phase, and begins the next one.
func (w *whole) tell(phase string) {
	names := slices.SortedFunc(maps.Keys(w.longest), func(a, b string) int {
		return int(w.longest[b] - w.longest[a])
	})
	line := fmt.Sprintf("%-18s %6.0f ms; longest turns in ms:", phase, milliseconds(w.spent))
	for i, name := range names {
		if i < 3 {
			line += fmt.Sprintf(" %.2f of %d %s;", milliseconds(w.longest[name]), w.counts[name], name)
		}
		w.everLongest[name] = max(w.everLongest[name], w.longest[name])
	}
	w.b.Log(line) // one, because no more than ten are printed
	w.spent = 0
	clear(w.longest)
	clear(w.counts)
}

// quiet measures seconds in which all nodes are well. A tenth of the leases is
// renewed in each, and the dispatcher polls if a renewal asks for it. Only the
// turns count, for a whole minute: each grace period comes up once in it.
func (w *whole) quiet() {
	const seconds = 60
	var all, busiest, decoding time.Duration
	leases := make([]*coordinationv1.Lease, wholeNodes/10)
	before := make([]*coordinationv1.Lease, len(leases))
	for second := range seconds {
		began := w.now
		at := func(i int) time.Time { return began.Add(time.Second * time.Duration(i) / time.Duration(len(leases))) }
		for i := range leases {
			n := (w.beat + i) % wholeNodes
			w.now = at(i)
			before[i], leases[i] = w.leaseOf[n], w.renewed(n)
			w.leaseOf[n] = leases[i]
			require.NoError(w.b, w.leases.Update(leases[i]))
		}
		w.beat = (w.beat + len(leases)) % wholeNodes
		if second == 0 {
			decoding = w.decodes(leases)
		}
		w.now = began
		w.spent = 0
		w.second(second)
		w.reports(wholeNodes / 300) // a kubelet posts its status each five minutes
		start := threadTime(w.b)
		var next time.Time
		for i, lease := range leases {
			for next = w.pollIfDue(next); next.Before(at(i)) && next.After(w.now); next = w.pollIfDue(next) {
				w.now = next
			}
			w.now = at(i)
			if w.feeds.Leases.OnUpdate(before[i], lease); w.asked {
				next = w.now
			}
		}
		took := threadTime(w.b) - start + w.spent
		all, busiest = all+took, max(busiest, took)
		w.now = began.Add(time.Second)
	}
	w.b.ReportMetric(milliseconds(all/seconds), "ms/quiet-second")
	w.b.ReportMetric(milliseconds(busiest), "ms/busiest-quiet-second")
	w.b.ReportMetric(milliseconds(decoding), "ms/decoding-of-a-second")
	w.tell("a quiet minute")
}

// pollIfDue polls if it is time, as the dispatcher does, and returns when it is
// again.
func (w *whole) pollIfDue(next time.Time) time.Time {
	if next.After(w.now) {
		return next
	}
	for job, ok := w.jobs.Start(w.now); ok; job, ok = w.jobs.Start(w.now) {
		w.perform(job)
	}
	next, ok := w.jobs.Next(w.now)
	switch {
	case !ok:
		return w.now.Add(time.Hour)
	case !next.After(w.now):
		return w.now.Add(time.Millisecond)
	}
	return next
}

// loseAZone makes a third of the nodes beat once more, within some hundredths
// of a second, and then never again. Nothing polls in the second in which their
// grace periods end.
func (w *whole) loseAZone() {
	for i := range w.lost {
		if w.lost[i] = zoneOf(i) == 0; w.lost[i] {
			w.now = w.now.Add(time.Microsecond)
			w.renew(i)
		}
	}
	w.pass(graceOf - time.Second)
	for range 1000 {
		w.now = w.now.Add(time.Millisecond)
		w.beats(wholeNodes / 10_000)
	}
	w.tell("a zone is silent")

	silent := (wholeNodes + wholeZones - 1) / wholeZones
	polls := w.pollUntil(func() bool { return w.verdicts() == silent })
	w.b.ReportMetric(milliseconds(w.spent), "ms/verdicts-of-a-third")
	w.b.ReportMetric(milliseconds(w.spent)+float64(polls), "ms/verdicts-and-pauses")
	w.tell("verdicts")
	w.pollUntil(func() bool { return w.c.Unconfirmed() == 0 })
	w.b.ReportMetric(milliseconds(w.spent), "ms/confirmations-of-a-third")
	w.metrics()
	w.tell("confirmations")
}

// pollUntil polls until something is so. The dispatcher pauses for a
// millisecond after each poll of a core that has more to do; the number of
// pauses is returned.
func (w *whole) pollUntil(is func() bool) (pauses int) {
	for !is() {
		var job timedqueue.Job
		var ok bool
		w.turn("Start", func() { job, ok = w.jobs.Start(w.now) })
		if ok {
			w.perform(job)
			continue
		}
		w.turn("Next", func() { w.jobs.Next(w.now) })
		w.now = w.now.Add(time.Millisecond)
		if pauses++; pauses > 100_000 {
			w.b.Fatal("it does not come to that")
		}
	}
	return pauses
}

// verdicts returns how many nodes count as silent in their zones.
func (w *whole) verdicts() (nodes int) {
	for _, z := range w.c.Zones() {
		nodes += z.Counts.NotReady + z.Counts.Unconfirmed
	}
	return nodes
}
