//go:build !race

package mutations

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

// mutations are faults that kubelets have had or could have, among them those
// that random worlds have found in this one.
var mutations = []mutant.Mutation{
	{
		Name:    "a pod is shown as failed while its containers run",
		Package: kubelet, Func: "(*publication) holds",
		Rule:   "r && p.isFinal() -> false && p.isFinal()",
		Caught: worlds(invariant.EndedFirst),
	},
	{
		Name:    "a pod is over before its containers",
		Package: kubelet, Func: "(*Fleet) syncTerminating",
		Rule:   "f.begin(t, r, s); return -> f.begin(t, r, s)",
		Caught: worlds(invariant.EndedFirst),
	},
	{
		Name:    "a plan of a former process is not waited for",
		Package: kubelet, Func: "(*Fleet) inherit",
		Rule:   "r.observed.Busy -> r.observed.Busy && r.pod == nil",
		Caught: worlds(invariant.OneSync),
	},
	{
		Name:    "the policy Never is OnFailure",
		Package: kubelet, Func: "restartsAfter",
		Rule:   `corev1.RestartPolicyNever -> "none"`,
		Caught: worlds(invariant.WithinPolicy),
	},
	{
		Name:    "each crash is the first",
		Package: kubelet, Func: "(*backOffs) count",
		Rule:   "e.before++ -> e.before = 0",
		Caught: worlds(invariant.BackedOff),
	},
	{
		Name:    "a sidecar lets the next container start before its probe does",
		Package: kubelet, Func: "(*View) sidecarState",
		Rule:   "s.StartupProbe == nil -> s != nil",
		Caught: worlds(invariant.InOrder),
	},
	{
		Name:    "volumes are not waited for",
		Package: kubelet, Func: "(*podRecord) volumesReady",
		Rule:   "t.Before(r.volumesAt) -> t.Before(r.volumesAt.Add(-time.Hour))",
		Caught: worlds(invariant.InOrder),
	},
	{
		Name:    "a second wait for volumes mounts them",
		Package: kubelet, Func: "(*podRecord) volumesReady",
		Rule:   "int(r.volumeFailures) < f -> int(r.volumeFailures) < min(f, 1)",
		Caught: worlds(invariant.InOrder),
	},
	{
		Name:    "no grace period is longer than 2 s",
		Package: kubelet, Func: "effectiveGrace",
		Rule:   "max(g, shortestGrace) -> min(max(g, shortestGrace), 2)",
		Caught: worlds(invariant.GraceKept),
	},
	{
		Name:    "each pod is admitted as if it were alone",
		Package: kubelet, Func: "admitResources",
		Rule:   "f.Sub(t) ->",
		Caught: worlds(invariant.WithinCapacity),
	},
	{
		Name:    "a final phase of another client is overwritten",
		Package: kubelet, Func: "(*publication) shown(pod)",
		Rule:   "s.Phase != a.Phase -> pod == nil",
		Caught: worlds(invariant.Forward),
	},
	{
		Name:    "a pod that has ended is removed",
		Package: kubelet, Func: "(*podRecord) deletable",
		Rule:   "f && r.pod.DeletionTimestamp != nil -> f",
		Caught: worlds(invariant.OwnPods),
	},
	{
		Name:    "a container is ready before its first probe",
		Package: kubelet, Func: "newProbe",
		Rule:   "ProbeFailure -> ProbeSuccess",
		Caught: worlds(invariant.ReadyTrue),
	},
	{
		Name:    "a status that was overwritten is restored after minutes",
		Package: kubelet, Func: "(*nodeRecord) nextCompare",
		Rule: `reconcilePeriod - s%reconcilePeriod ->
			reconcilePeriod - s%reconcilePeriod + 30*reconcilePeriod`,
		Caught: worlds(invariant.ReadyInTime),
	},
	{
		Name:    "a write that has failed often waits for a minute",
		Package: kubelet, Func: "(*Fleet) retry",
		Rule:   "n.nextCompare(t).Sub(t) -> time.Minute",
		Caught: worlds(invariant.ReadyInTime),
	},
	{
		Name:    "a status may revive a container that its policy leaves",
		Package: kubelet, Func: "isLegal",
		Rule:   "p.Spec.RestartPolicy == corev1.RestartPolicyAlways || mayRestartAll(p) -> p != nil",
		Caught: worlds(invariant.Forward),
	},
	{
		Name:    "a node that is back compares its statuses one period too late",
		Package: kubelet, Func: "(*Fleet) setFaults",
		Rule:   "returnPause -> returnPause + reconcilePeriod",
		Caught: worlds(invariant.ReadyInTime),
	},
	{
		Name:    "what was deleted while no kubelet ran goes on to run",
		Package: kubelet, Func: "(*Fleet) proceedRound",
		Rule:   "f.adoptOrphans(t, n) ->",
		Caught: worlds(invariant.Finished),
	},
	{
		Name:    "a crash loop waits for an hour",
		Package: kubelet, Func: "(backOff) delay",
		Rule:   "longestBackOff -> 12 * longestBackOff",
		Caught: worlds(invariant.Started),
	},
	{
		Name:    "restarts are not counted",
		Package: kubelet, Func: "(*statusView) containerStatus",
		Rule:   "l.Attempt -> 0",
		Caught: worlds(invariant.StatusConverged),
	},
	{
		Name:    "a pod has succeeded when one of its containers has",
		Package: kubelet, Func: "phase",
		Rule:   "n.stopped == n.succeeded -> n.succeeded > 0",
		Caught: worlds(invariant.PhaseTrue),
	},
	{
		Name:    "a static pod does not wait for the former one of its name",
		Package: kubelet, Func: "(*Fleet) visitStatic",
		Rule:   "!r.node.ending(m, u) -> true",
		Caught: worlds(invariant.OneStatic),
	},
	{
		Name:    "the end of a mirror ends its static pod",
		Package: kubelet, Func: "(*Fleet) forgetMirror",
		Rule: `f.requestMirror(t, n, p) ->
			if r := f.staticRecord(n, p); r != nil { f.move(t, r, workerTerminating) }
			f.requestMirror(t, n, p)`,
		Caught: worlds(invariant.StaysUp),
	},
	{
		Name:    "a mirror that is to be deleted stays",
		Package: kubelet, Func: "decideMirror",
		Rule:   "m.pod.DeletionTimestamp != nil || o -> o",
		Caught: worlds(invariant.MirrorShown),
	},
	{
		Name:    "a mirror that another client has failed stays so",
		Package: kubelet, Func: "(*publication) shown",
		Rule:   "s && !isMirror(p) -> s",
		Caught: worlds(invariant.Started),
	},
	{
		Name:    "a status that has not changed is written",
		Package: kubelet, Func: "(*publication) set",
		Rule:   "i || q.version > 0 && sameStatus(o, s) -> i",
		Caught: worlds(invariant.Quiet),
	},
	{
		Name:    "the result of an older write counts for the newer",
		Package: kubelet, Func: "(*publication) end",
		Rule:   "max(p.written, v) -> p.version",
		Caught: worlds(invariant.EndShown),
	},
	{
		Name:    "what the runtime has not told is not looked for",
		Package: kubelet, Func: "(*Fleet) relistAll",
		Rule:   "!f.synced -> f.synced",
		Caught: worlds(invariant.Finished),
	},
	{
		Name:    "a deletion does not end a pod that is synced",
		Package: kubelet, Func: "(*Fleet) update",
		Rule:   "r.pod.DeletionTimestamp != nil || t -> t",
		Caught: worlds(invariant.StaysDeleted),
	},
	{
		Name:    "a deletion is not guarded by the UID",
		Package: "examples/hollownode/edge", Func: "(*Edge) Perform",
		Rule:   "metav1.NewUIDPreconditions(string(t.Pod.UID)) -> nil",
		Caught: worlds(invariant.OwnPods),
	},
}
