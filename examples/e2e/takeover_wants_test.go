package e2e

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// readRequests takes from the audit log what both programs have written.
func (o *takeover) readRequests() {
	o.t.Helper()
	for _, program := range []string{upstream, ours} {
		requests, err := o.c.plane.Requests(context.Background(), controlplane.Filter{UserAgent: program, Since: o.cut})
		require.NoError(o.t, err)
		for _, r := range requests {
			reads := r.Verb == "get" || r.Verb == "list" || r.Verb == "watch"
			if r.Resource == "nodes" && !reads || r.Resource == "pods" && !reads {
				o.writes = append(o.writes, r)
			}
		}
	}
	slices.SortStableFunc(o.writes, func(a, b controlplane.Request) int { return a.Received.Compare(b.Received) })
}

// deletion is what became of a pod.
type deletion struct {
	at    time.Time // when the first that was accepted was received
	by    *tenure
	again []*tenure // of others that were accepted: the pod was terminating
	// refused are answers to others: the pod was gone, or is another one.
	refused []*tenure
}

// deletions returns the deletions of pods by the programs, by the pod's name.
func (o *takeover) deletions() map[string]*deletion {
	all := map[string]*deletion{}
	for _, r := range o.writes {
		if r.Resource != "pods" || r.Verb != "delete" && r.Subresource != "eviction" {
			continue
		}
		d := all[r.Name]
		if d == nil {
			d = &deletion{}
			all[r.Name] = d
		}
		by := o.tenureAt(r.Received)
		switch accepted := r.Code >= http.StatusOK && r.Code < http.StatusMultipleChoices; {
		case !accepted:
			d.refused = append(d.refused, by)
		case d.by == nil:
			d.at, d.by = r.Received, by
		default:
			d.again = append(d.again, by)
		}
	}
	return all
}

// tenureAt returns the tenure in which a request was received. One that its
// sender sent while it ended is its own: the next begins seconds later.
func (o *takeover) tenureAt(at time.Time) *tenure {
	for _, tenure := range slices.Backward(o.tenures) {
		if !at.Before(tenure.started) {
			return tenure
		}
	}
	return o.tenures[0]
}

// punctuality is how far the evictions of a tenure are from their deadlines.
type punctuality struct {
	due, evicted, early, late, lost int
	// first and last are how long after their deadlines pods left. overdue is how
	// long after the program could evict those left that were due before.
	first, last time.Duration
	gap         int
	overdue     time.Duration
}

func (p *punctuality) String() string {
	return fmt.Sprintf("%d due, %d evicted %.1f s to %.1f s after their deadlines, %d early, %d late, %d lost; "+
		"%d of them due before it evicts, the last left %.1f s after that",
		p.due, p.evicted, p.first.Seconds(), p.last.Seconds(), p.early, p.late, p.lost, p.gap, p.overdue.Seconds())
}

func (p *punctuality) add(due, leads time.Time, d *deletion, until time.Time) {
	p.due++
	if d == nil || d.by == nil || d.at.After(until) {
		p.lost++
		return
	}
	p.evicted++
	late := d.at.Sub(due)
	switch {
	case late < 0:
		p.early++
	case due.Before(leads):
		p.gap++
		p.overdue = max(p.overdue, d.at.Sub(leads))
		late = d.at.Sub(leads)
	case p.evicted-p.gap == 1:
		p.first, p.last = late, late
	default:
		p.first, p.last = min(p.first, late), max(p.last, late)
	}
	if late > moved {
		p.late++
	}
}

// evicts returns from when a program evicts at the latest. Ours does not begin
// with sight: nodes that live have two heartbeat intervals to be heard.
func (t *tenure) evicts() time.Time {
	if t.program == ours {
		return t.leads.Add(2 * takeoverBeat)
	}
	return t.leads
}

// wantDeadlines compares each pod's end with the TimeAdded of its node's first
// NoExecute taint and its toleration. One that is due in a gap leaves when the
// next program leads.
func (o *takeover) wantDeadlines() {
	o.t.Helper()
	deletions := o.deletions()
	columns := make([]punctuality, len(o.tenures))
	for node, kind := range o.doomed() {
		pod := fleet.PodName(kind, node)
		tolerates, leaves := seconds(kind)
		if !leaves {
			require.Nil(o.t, deletions[pod], "pod %s tolerates for ever", pod)
			continue
		}
		all := spans(o.history.node(node))
		if len(all) == 0 {
			require.Nil(o.t, deletions[pod], "the node of pod %s was not tainted", pod)
			continue
		}
		due := all[0].added.Add(tolerates)
		if d := deletions[pod]; d != nil && d.by != nil && d.by.program == ours {
			require.False(o.t, d.at.Before(due), "pod %s, due at %v, is evicted at %v", pod, due, d.at)
		}
		if i := o.responsible(due, deletions[pod]); i >= 0 && !o.backFor(node, due) {
			until := time.Now()
			if i+1 < len(o.tenures) {
				until = o.tenures[i+1].started
			}
			columns[i].add(due, o.tenures[i].evicts(), deletions[pod], until)
		}
	}
	for i, column := range columns {
		o.t.Logf("%s: %v", o.tenures[i].program, &column)
		require.Positive(o.t, column.due-column.gap, "deadlines in the tenure of %s", o.tenures[i].program)
		if i > 0 {
			require.Positive(o.t, column.gap+column.lost, "deadlines in the gap before %s", o.tenures[i].program)
		}
		if o.tenures[i].program == ours {
			require.Zero(o.t, column.early+column.late+column.lost, ours)
		}
	}
}

// doomed yields the nodes that are cut off at any time, and the kinds of pods.
func (o *takeover) doomed() iter.Seq2[string, string] {
	return func(yield func(node, kind string) bool) {
		for _, node := range slices.Concat(o.down, o.fallen[0], o.fallen[1]) {
			for _, kind := range append(slices.Sorted(maps.Keys(tolerated)), none) {
				if !yield(node, kind) {
					return
				}
			}
		}
	}
}

// responsible returns in whose tenure a pod has to leave, -1 for none. What is
// due just before SIGTERM may be left to the next.
func (o *takeover) responsible(due time.Time, d *deletion) int {
	for i, tenure := range o.tenures {
		left := d != nil && d.by == tenure
		if due.Before(tenure.ends.Add(-moved)) || due.Before(tenure.ends) && left {
			return i
		}
	}
	return -1
}

// backFor reports whether a node is back when pods of it are due, or would be
// when a program leads that can evict them.
func (o *takeover) backFor(node string, due time.Time) bool {
	for gap, nodes := range o.returned {
		if slices.Contains(nodes, node) && due.After(o.tenures[gap].ends.Add(-moved)) {
			return true
		}
	}
	return false
}

// wantOneDeletion wants that no pod of a living node was deleted, and that ours
// has deleted no pod that was being deleted already. What
// kube-controller-manager deletes again is counted.
func (o *takeover) wantOneDeletion() {
	o.t.Helper()
	again, refused := map[*tenure]int{}, map[*tenure]int{}
	living := o.living()
	deletions := o.deletions()
	for pod, d := range deletions {
		require.Equal(o.t, 1, o.history.uids(pod), "UIDs of pod %s", pod)
		_, node, _ := strings.Cut(pod, "-")
		require.NotContains(o.t, living, node, "the node of pod %s", pod)
		for _, tenure := range d.again {
			again[tenure]++
		}
		for _, tenure := range d.refused {
			refused[tenure]++
		}
	}
	for _, tenure := range o.tenures {
		o.t.Logf("%s: deletions of terminating pods %d, refused %d", tenure.program, again[tenure], refused[tenure])
		if tenure.program == ours {
			require.Zero(o.t, again[tenure], tenure.program)
		}
	}
}

// living returns the nodes that beat all the time.
func (o *takeover) living() []string {
	return without(o.c.fleet.AllNodes(), slices.Concat(o.down, o.fallen[0], o.fallen[1]))
}

// wantNoFlaps wants that no silent node loses its taints, or its Unknown,
// before kube-controller-manager starts again.
func (o *takeover) wantNoFlaps() {
	o.t.Helper()
	back := o.tenures[2].started
	var after [2]int
	for _, node := range without(slices.Concat(o.down, o.fallen[0], o.fallen[1]),
		slices.Concat(o.returned[0], o.returned[1])) {
		versions := o.history.node(node)
		conditions, taints := flaps(versions, o.cut, back)
		require.Zero(o.t, conditions, "node %s: %+v", node, versions)
		require.Zero(o.t, taints, "node %s: %+v", node, versions)
		conditions, taints = flaps(versions, back, time.Now())
		after[0] += conditions
		after[1] += taints
	}
	o.t.Logf("flaps of silent nodes: none, and since %s is back %d of Ready and %d of taints", upstream, after[0],
		after[1])
}

// wantLivingAlone wants that no living node is ever ill, and that nodelifecycle
// writes to none of them.
func (o *takeover) wantLivingAlone() {
	o.t.Helper()
	living := map[string]bool{}
	for _, node := range o.living() {
		living[node] = true
		for _, v := range o.history.node(node) {
			if v.at.After(o.cut) {
				require.Fail(o.t, "a living node has changed", "node %s: %+v", node, v)
			}
		}
	}
	writes := map[*tenure]int{}
	for _, r := range o.writes {
		if r.Resource == "nodes" && living[r.Name] {
			writes[o.tenureAt(r.Received)]++
		}
	}
	for _, tenure := range o.tenures {
		o.t.Logf("%s: writes to living nodes %d", tenure.program, writes[tenure])
	}
	require.Zero(o.t, writes[o.tenures[1]], ours)
}

// wantGap wants that the next program treats nodes that fall and return in a
// gap as if it had been there. One is declared a grace period after the program
// leads. The other is untainted by its first heartbeat.
func (o *takeover) wantGap() {
	o.t.Helper()
	deletions := o.deletions()
	for gap := range o.fallen {
		next := o.tenures[gap+1]
		var unknown, tainted, untainted []time.Duration
		for _, node := range o.fallen[gap] {
			versions := o.history.node(node)
			for _, v := range versions {
				if v.ready == corev1.ConditionUnknown {
					unknown = append(unknown, v.at.Sub(next.leads))
					break
				}
			}
			for _, s := range spans(versions)[:1] {
				tainted = append(tainted, s.from.Sub(next.leads))
			}
		}
		for _, node := range o.returned[gap] {
			versions := o.history.node(node)
			last := versions[len(versions)-1]
			require.Empty(o.t, last.taints, "node %s", node)
			untainted = append(untainted, last.at.Sub(next.leads))
		}
		var lost, kept int
		for node, kind := range o.doomed() {
			tolerates, leaves := seconds(kind)
			if !leaves || !slices.Contains(o.returned[gap], node) {
				continue
			}
			due := spans(o.history.node(node))[0].added.Add(tolerates)
			if !due.After(o.backAt[gap]) {
				continue
			}
			if d := deletions[fleet.PodName(kind, node)]; d != nil {
				lost++
			} else {
				kept++
			}
		}
		for _, times := range [][]time.Duration{unknown, tainted, untainted} {
			slices.Sort(times)
		}
		o.t.Logf("after %s leads: %d nodes that fell Unknown %v, tainted %v; %d that returned untainted %v, "+
			"%d of their pods evicted after that, %d kept", next.program, len(unknown), ends(unknown), ends(tainted),
			len(untainted), ends(untainted), lost, kept)
		if next.program != ours {
			continue
		}
		require.Len(o.t, unknown, len(o.fallen[gap]))
		require.Len(o.t, tainted, len(o.fallen[gap]))
		require.GreaterOrEqual(o.t, unknown[0], takeoverGrace-next.leads.Sub(next.started))
		declared := takeoverGrace + 2*takeoverBeat // and a heartbeat interval before a zone is acted on
		require.LessOrEqual(o.t, unknown[len(unknown)-1], declared)
		require.LessOrEqual(o.t, tainted[len(tainted)-1], declared+takeoverBeat+o.queued(next)+moved)
		require.LessOrEqual(o.t, untainted[len(untainted)-1], takeoverGrace)
		require.Zero(o.t, lost, "pods of nodes that are back")
	}
}

// queued is how long the tokens of a zone let the last node wait that is
// tainted in a tenure.
func (o *takeover) queued(in *tenure) (longest time.Duration) {
	byZone := map[string]int{}
	for _, node := range slices.Concat(o.down, o.fallen[0]) {
		all := spans(o.history.node(node))
		if len(all) > 0 && all[0].from.After(in.leads) && all[0].from.Before(in.ends) {
			zone, _, _ := strings.Cut(node, "-")
			byZone[zone]++
			longest = max(longest, time.Duration(byZone[zone])*time.Second/takeoverRate)
		}
	}
	return longest
}

func ends(sorted []time.Duration) string {
	if len(sorted) == 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f s to %.1f s", sorted[0].Seconds(), sorted[len(sorted)-1].Seconds())
}
