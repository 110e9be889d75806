package conformance

import (
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/taints"
)

const worlds = 6000

// TestSyncsAreThoseOfUpstream lets both sides work in the same worlds until
// nothing is left to do. Where upstream takes some of several nodes, in no
// order, ours is told to prefer the same: to be able to choose them it has to
// take them for candidates, too, and as many of them.
func TestSyncsAreThoseOfUpstream(t *testing.T) {
	c := syncComparison{T: t, upstream: &theirs{T: t, controller: startUpstream(t)}, reached: reached{}}
	for seed := range seeds(worlds) {
		c.compare(seed, throw(seed).world())
	}
	f := floors{"equal": worlds * 7 / 10, "OnDelete": 300, "maxUnavailable": 1500, "maxSurge": 1000,
		"choice of upstream's": 200, surgeTogether: 5, keptLater: 5}
	for _, d := range departures {
		f["departure: "+d.name] = 5
	}
	for _, cause := range []rollout.StepReason{
		rollout.StepMissing, rollout.StepSurging, rollout.StepOutdated, rollout.StepOutdatedUnavailable, rollout.StepReplaced,
		rollout.StepPodFailed,
		rollout.StepPodSucceeded, rollout.StepDuplicate, rollout.StepMisscheduled, rollout.StepNodeGone,
	} {
		f["equal with "+string(cause)] = 20
	}
	c.reached.require(t, f)
}

// surgeTogether is a departure that no other world shows. Upstream counts what
// takes the place of unavailable pods against maxSurge, but not in the sync in
// which it begins with it, so that more nodes have two pods than maxSurge says.
// Ours counts it at once.
const surgeTogether = "departure: what takes the place of unavailable pods counts against maxSurge at once"

// keptLater is another one. Upstream's order among old pods is none.
const keptLater = "departure: old pods of nodes where none should run, but may stay, are replaced last"

type syncComparison struct {
	*testing.T
	upstream *theirs
	reached  reached
}

func (c *syncComparison) compare(seed uint64, w *world) {
	c.Helper()
	want := c.upstream.run(w)
	got := ours(c.T, w, want.chosen(w))
	require.Equal(c, want.First, got.First, "-args -seed=%d: status of the world as it was\n%s", seed, w)
	if want.sameAs(&got) && want.Last == got.Last {
		c.countEqual(w, &got)
		return
	}
	explained := c.explain(w)
	if explained == nil {
		require.FailNowf(c, "different", "-args -seed=%d\n%s\nupstream %+v\nours     %+v", seed, w, want, got)
	}
	for _, name := range explained {
		c.reached[name]++
	}
}

func (c *syncComparison) countEqual(w *world, got *outcome) {
	c.Helper()
	c.reached["equal"]++
	switch rolling := w.set.Spec.UpdateStrategy.RollingUpdate; {
	case w.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
		c.reached["OnDelete"]++
	case rolling.MaxSurge.IntValue() > 0 || rolling.MaxSurge.StrVal > "0%":
		c.reached["maxSurge"]++
	default:
		c.reached["maxUnavailable"]++
	}
	for cause := range got.causes {
		c.reached["equal with "+string(cause)]++
	}
	// With an order of our own it is other nodes, but as many.
	other := ours(c.T, w, nil)
	require.Len(c, other.Created, len(got.Created), "%s", w)
	require.Len(c, other.Deleted, len(got.Deleted), "%s", w)
	if !other.sameAs(got) {
		c.reached["choice of upstream's"]++
	}
}

// explain returns the fewest departures with which upstream does what we do, or
// nil.
func (c *syncComparison) explain(w *world) []string {
	c.Helper()
	for size := range len(departures) + 1 {
		for set := range uint(1) << len(departures) {
			if bits.OnesCount(set) != size {
				continue
			}
			if names := c.explainWith(w, set); names != nil {
				return names
			}
		}
	}
	return nil
}

// explainWith tries one set of departures.
func (c *syncComparison) explainWith(w *world, set uint) (names []string) {
	c.Helper()
	neutral, sameStatus := w, true
	var besides []string
	for i := range departures {
		if set>>i&1 == 0 {
			continue
		}
		other, more := departures[i].neutral(neutral)
		if other == nil {
			return nil
		}
		neutral, besides = other, append(besides, more...)
		sameStatus = sameStatus && departures[i].sameStatus
		names = append(names, "departure: "+departures[i].name)
	}
	want := c.upstream.run(neutral)
	want.Deleted = append(want.Deleted, besides...)
	want.sort()
	got := ours(c.T, w, want.chosen(w))
	switch {
	case sameStatus && want.Last != got.Last:
		return nil
	case want.sameAs(&got):
		return names
	case surgesTogether(w, &want, &got):
		return append(names, surgeTogether)
	case keptLast(w, &want, &got):
		return append(names, keptLater)
	}
	return nil
}

// keptLast reports whether we have done what upstream has, except deleting
// other pods, as many: those of nodes that should have one instead of those of
// nodes that need not.
func keptLast(w *world, want, got *outcome) bool {
	if !slices.Equal(want.Created, got.Created) || len(want.Deleted) != len(got.Deleted) {
		return false
	}
	placement := daemon.Compile(&w.set.Spec.Template, taints.Matcher{})
	for _, pod := range w.pods {
		theirs, mine := slices.Contains(want.Deleted, labelOf(pod)), slices.Contains(got.Deleted, labelOf(pod))
		if theirs == mine {
			continue
		}
		if node := w.node(targetOf(pod)); node == nil || placement.Place(node).ShouldRun != mine {
			return false
		}
	}
	return true
}

// surgesTogether reports whether we have done what upstream has, except
// beginning with fewer nodes, because those with which we began are as many as
// may be.
func surgesTogether(w *world, want, got *outcome) bool {
	limits, err := limitsOf(w, got.First.Desired)
	if err != nil || limits.Surge == 0 || !slices.Equal(want.Deleted, got.Deleted) ||
		len(got.Created) >= len(want.Created) {
		return false
	}
	for _, node := range got.Created {
		if !slices.Contains(want.Created, node) {
			return false
		}
	}
	return got.surging(w) >= limits.Surge && want.surging(w) > limits.Surge
}

func limitsOf(w *world, desired int) (rollout.Limits, error) {
	strategy := rollout.SpecOf(w.set, w.hash).Strategy
	return strategy.Limits(desired)
}

// chosen are the nodes of which, if a choice was made, they are those that were
// taken: there is a new pod that was made for them, or no old one any more.
func (o *outcome) chosen(w *world) map[string]bool {
	all := map[string]bool{}
	isOld, _ := o.ages(w)
	for _, node := range w.nodes {
		all[node.Name] = !isOld[node.Name] || slices.Contains(o.Created, node.Name)
	}
	return all
}

// surging is how many nodes have an old pod and a new one in the end.
func (o *outcome) surging(w *world) int {
	isOld, isNew := o.ages(w)
	n := 0
	for node := range isNew {
		if isOld[node] {
			n++
		}
	}
	return n
}

// ages returns which nodes have old pods, and which have new ones, in the end.
func (o *outcome) ages(w *world) (isOld, isNew map[string]bool) {
	isOld, isNew = map[string]bool{}, map[string]bool{}
	for _, pod := range w.pods {
		node := targetOf(pod)
		switch {
		case w.node(node) == nil || pod.DeletionTimestamp != nil || slices.Contains(o.Deleted, labelOf(pod)):
		case w.current(pod):
			isNew[node] = true
		default:
			isOld[node] = true
		}
	}
	for _, node := range o.Created {
		isNew[node] = true
	}
	return isOld, isNew
}

func (o *outcome) sameAs(other *outcome) bool {
	return slices.Equal(o.Created, other.Created) && slices.Equal(o.Deleted, other.Deleted)
}

func (o *outcome) String() string {
	return "created " + strings.Join(o.Created, " ") + ", deleted " + strings.Join(o.Deleted, " ")
}
