//go:build !race

package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/mutant"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

const (
	// repository is its root, seen from this folder.
	repository = "../../.."
	kubelet    = "examples/hollownode/kubelet"
)

// Each of the faults can be put in, also those that are not tried.
func TestMutationsFitTheSources(t *testing.T) {
	require.NoError(t, mutant.Fit(repository, mutations))
	require.GreaterOrEqual(t, len(mutations), 16)
}

// TestMutationsAreCaught wants the random worlds to show each of the faults, by
// the invariant that is there for it. It runs if LIFECYCLE_TESTS=all, because
// it builds.
func TestMutationsAreCaught(t *testing.T) {
	if !seeds.Full() {
		t.Skip("LIFECYCLE_TESTS=all builds the mutants and runs them")
	}
	mutant.Run(t, repository, mutations)
}

// worlds are those of package explore, of which so many may pass before a fault
// is caught.
func worlds(by invariant.Invariant) mutant.Catch {
	return mutant.Catch{
		Package: "../explore", Until: string(by),
		Tests: []string{"-test.run", "^TestRandomWorlds$", "-seeds", "490"},
	}
}

// rareWorlds are worlds that begin with a seed, for a fault that one in a
// thousand shows.
func rareWorlds(first uint64, by invariant.Invariant) mutant.Catch {
	caught := worlds(by)
	caught.First = first
	return caught
}

// mutations are faults that kubelets have had or could have, among them those
// that random worlds have found in this one.
var mutations = []mutant.Mutation{
	mutant.New("a pod is shown as failed while its containers run", kubelet, "(*publication) holds",
		"r && p.isFinal() -> false && p.isFinal()",
		worlds(invariant.EndedFirst)),
	mutant.New("a pod is over before its containers", kubelet, "(*termination) stop(now)",
		"w.begin(t, s); return -> w.begin(t, s)",
		worlds(invariant.EndedFirst)),
	mutant.New("a plan of a former process is not waited for", kubelet, "(*pleg) inherit",
		"w.observed.Busy -> w.observed.Busy && w.pod == nil",
		worlds(invariant.OneSync)),
	mutant.New("the policy Never is OnFailure", kubelet, "restartsAfter",
		`corev1.RestartPolicyNever -> "none"`,
		worlds(invariant.WithinPolicy)),
	mutant.New("each crash is the first", kubelet, "(*backOffs) count",
		"e.before++ -> e.before = 0",
		worlds(invariant.BackedOff)),
	mutant.New("a sidecar lets the next container start before its probe does",
		kubelet, "(*View) sidecarState",
		"s.StartupProbe == nil -> s != nil",
		worlds(invariant.InOrder)),
	mutant.New("volumes are not waited for", kubelet, "(*volumes) reached",
		"t.Before(v.readyAt) -> t.Before(v.readyAt.Add(-time.Hour))",
		worlds(invariant.InOrder)),
	mutant.New("a second wait for volumes mounts them", kubelet, "(*volumes) reached",
		"int(v.failures) < f -> int(v.failures) < min(f, 1)",
		worlds(invariant.InOrder)),
	mutant.New("no grace period is longer than 2 s", kubelet, "effectiveGrace",
		"max(g, shortestGrace) -> min(max(g, shortestGrace), 2)",
		worlds(invariant.GraceKept)),
	mutant.New("each pod is admitted as if it were alone", kubelet, "admitResources",
		"f.Sub(t) ->",
		worlds(invariant.WithinCapacity)),
	mutant.New("a final phase of another client is overwritten",
		kubelet, "(*publication) shown(pod)",
		"s.Phase != a.Phase -> pod == nil",
		worlds(invariant.Forward)),
	mutant.New("a pod that has ended is removed", kubelet, "(*publication) deletable",
		"f && w.pod.DeletionTimestamp != nil -> f",
		worlds(invariant.OwnPods)),
	mutant.New("a container is ready before its first probe", kubelet, "newProbe",
		"ProbeFailure -> ProbeSuccess",
		worlds(invariant.ReadyTrue)),
	mutant.New("a status that was overwritten is restored after minutes",
		kubelet, "(*kubelet) nextCompare",
		`reconcilePeriod - s%reconcilePeriod ->
			reconcilePeriod - s%reconcilePeriod + 30*reconcilePeriod`,
		worlds(invariant.ReadyInTime)),
	mutant.New("a write that has failed often waits for a minute", kubelet, "(*kubelet) retry",
		"k.nextCompare(t).Sub(t) -> time.Minute",
		// So many writes have to fail in a row that it takes luck.
		rareWorlds(1100, invariant.ReadyInTime)),
	mutant.New("a status may revive a container that its policy leaves", kubelet, "isLegal",
		"p.Spec.RestartPolicy == corev1.RestartPolicyAlways -> p != nil",
		worlds(invariant.Forward)),
	mutant.New("a node that is back compares its statuses one period too late",
		kubelet, "(*kubelet) setFaults",
		"returnPause -> returnPause + reconcilePeriod",
		worlds(invariant.ReadyInTime)),
	mutant.New("what was deleted while no kubelet ran goes on to run",
		kubelet, "(*housekeeping) proceed",
		"h.adoptOrphans(t) ->",
		worlds(invariant.Finished)),
	mutant.New("a crash loop waits for an hour", kubelet, "(backOff) delay",
		"longestBackOff -> 12 * longestBackOff",
		worlds(invariant.Started)),
	mutant.New("restarts are not counted", kubelet, "(*statusView) containerStatus",
		"l.Attempt -> 0",
		worlds(invariant.StatusConverged)),
	mutant.New("a pod has succeeded when one of its containers has", kubelet, "phase",
		"n.stopped == n.succeeded -> n.succeeded > 0",
		worlds(invariant.PhaseTrue)),
	mutant.New("a static pod does not wait for the former one of its name",
		kubelet, "(*housekeeping) visitStatic",
		"!h.node.configuration.ending(m, u) -> true",
		worlds(invariant.OneStatic)),
	mutant.New("the end of a mirror ends its static pod", kubelet, "(*mirrorPods) forget",
		`m.request(t, n) ->
			if w := m.node.configuration.worker(n); w != nil { w.move(t, workerTerminating) }
			m.request(t, n)`,
		worlds(invariant.StaysUp)),
	mutant.New("a mirror that is to be deleted stays", kubelet, "decideMirror",
		"m.pod.DeletionTimestamp != nil || o -> o",
		worlds(invariant.MirrorShown)),
	mutant.New("a mirror that another client has failed stays so", kubelet, "(*publication) shown",
		"s && !isMirror(p) -> s",
		worlds(invariant.Started)),
	mutant.New("a status that has not changed is written", kubelet, "(*publication) set",
		"i || q.version > 0 && sameStatus(o, s) -> i",
		worlds(invariant.Quiet)),
	mutant.New("the result of an older write counts for the newer", kubelet, "(*publication) end",
		"max(p.written, v) -> p.version",
		worlds(invariant.EndShown)),
	mutant.New("what the runtime has not told is not looked for", kubelet, "(*pleg) relist",
		"!p.node.fleet.synced -> p.node.fleet.synced",
		worlds(invariant.Finished)),
	mutant.New("a deletion does not end a pod that is synced", kubelet, "(*syncLoop) update",
		"w.pod.DeletionTimestamp != nil || t -> t",
		worlds(invariant.StaysDeleted)),
	mutant.New("a deletion is not guarded by the UID",
		"examples/hollownode/edge", "(*Edge) Perform",
		"metav1.NewUIDPreconditions(string(t.Pod.UID)) -> nil",
		worlds(invariant.OwnPods)),
}
