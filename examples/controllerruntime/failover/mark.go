package failover

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/zone"
)

// The keys of the taints that a cluster gets. Their effect is NoExecute.
const (
	// TaintNotReady: its agent says that it is not ready.
	TaintNotReady = "federation.example.com/not-ready"
	// TaintUnreachable: it is silent.
	TaintUnreachable = "federation.example.com/unreachable"
)

// isOurs reports whether a taint is one of these.
func isOurs(taint *corev1.Taint) bool { return isNotReady(taint) || isUnreachable(taint) }

func isNotReady(taint *corev1.Taint) bool {
	return taint.Key == TaintNotReady && taint.Effect == corev1.TaintEffectNoExecute
}

func isUnreachable(taint *corev1.Taint) bool {
	return taint.Key == TaintUnreachable && taint.Effect == corev1.TaintEffectNoExecute
}

// lineage reports whether two taints count as one. Ours do: a cluster that is
// not ready and falls silent has not become well in between, so a binding that
// tolerates either for a time leaves when that has passed since the first.
func lineage(a, b *corev1.Taint) bool { return a.MatchTaint(b) || isOurs(a) && isOurs(b) }

// mark is what a cluster waits for: to get one of our taints, to have it
// replaced by the other one, or to lose it.
type mark struct {
	taint  string // the key, empty to lose it
	adds   bool   // it has none yet
	region string
}

// byRegion names the budget of marks. A region adds taints at the rate that its
// state allows. They are replaced and removed at once.
const byRegion, unlimited = "region", "unlimited"

func shareOf(_ string, m mark) string {
	if m.adds {
		return "add " + m.region
	}
	return unlimited
}

// mark schedules a change of the taint of a cluster, or none.
func (c *Core) mark(now time.Time, r *federation.Cluster) {
	next := mark{taint: c.desired(r), region: r.Spec.Region}
	next.adds = next.taint != "" && len(taints.Filter(r.Spec.Taints, isOurs)) == 0
	_, changes := marked(r, next.taint, now)
	changes = changes && !(next.adds && c.Halted())
	if waiting, ok := c.marks.Get(r.Name); ok && waiting.Value == next && changes {
		return
	}
	c.marks.Remove(r.Name)
	if !changes {
		return
	}
	due := now
	if notBefore := c.regions.NotBefore(r.Name); next.adds && notBefore.After(now) {
		due = notBefore
	}
	c.marks.Add(r.Name, next, due)
}

// markAll schedules what each cluster waits for, in the order of names, so that
// the same events give the same tasks.
func (c *Core) markAll(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(c.clusters)) {
		c.mark(now, c.clusters[name])
	}
}

// desired returns the key of the taint that a cluster must have, empty for none.
// A suspension of all regions takes it away. While the silence of one that was
// not ready is not recorded yet, it keeps what it has.
func (c *Core) desired(r *federation.Cluster) string {
	switch {
	case c.regions.Phase() == zone.PhaseSuspended:
	case c.recorded(r):
		return TaintUnreachable
	case readyIs(r, metav1.ConditionFalse):
		return TaintNotReady
	}
	return ""
}

// marked returns the taints of a cluster with one of ours, or none, and whether
// that is a change.
func marked(r *federation.Cluster, key string, now time.Time) ([]corev1.Taint, bool) {
	var desired []corev1.Taint
	if key != "" {
		desired = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoExecute}}
	}
	return taints.Lineage(lineage).Reconcile(r.Spec.Taints, desired, isOurs, now)
}
