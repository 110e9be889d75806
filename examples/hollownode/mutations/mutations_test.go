//go:build !race

package mutations

import (
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/mutant"
)

// mutation is a deliberate fault and what has to catch it.
type mutation struct {
	mutant.Mutation

	caughtBy invariant.Invariant
}

// fault returns a mutation of a file of package kubelet.
func fault(by invariant.Invariant, name, file, old, with string) mutation {
	return faultIn(by, name, "kubelet/"+file, old, with)
}

// faultIn returns a mutation of a file of another package of the hollow nodes.
func faultIn(by invariant.Invariant, name, file, old, with string) mutation {
	return mutation{
		Mutation: mutant.Mutation{Name: name, File: "examples/hollownode/" + file, Old: old, With: with},
		caughtBy: by,
	}
}

// mutations are faults that kubelets have had or could have, among them those
// that random worlds have found in this one. Each has to be caught.
var mutations = []mutation{
	fault(invariant.EndedFirst, "a pod is shown as failed while its containers run", "publication.go",
		"return running && p.isFinal()", "return false && p.isFinal()"),
	fault(invariant.EndedFirst, "a pod is over before its containers", "termination.go",
		"		f.begin(now, r, steps)\n		return\n	}\n	f.publish(now, r, r.status(now, true))",
		"		f.begin(now, r, steps)\n	}\n	f.publish(now, r, r.status(now, true))"),
	fault(invariant.OneSync, "a plan of a former process is not waited for", "relist.go",
		"	if r.observed.Busy {\n		// A former", "	if r.observed.Busy && r.pod == nil {\n		// A former"),
	fault(invariant.WithinPolicy, "the policy Never is OnFailure", "decide.go",
		"	case corev1.RestartPolicyNever:\n		return false\n	case", "	case"),
	fault(invariant.BackedOff, "each crash is the first", "plan.go", "entry.before++", "entry.before = 0"),
	fault(invariant.InOrder, "a sidecar lets the next container start before its probe does", "decide.go",
		"	if spec.StartupProbe == nil {", "	if spec != nil {"),
	fault(invariant.InOrder, "volumes are not waited for", "podworker.go",
		"	return !now.Before(r.volumesAt)", "	return !now.Before(r.volumesAt.Add(-time.Hour))"),
	fault(invariant.InOrder, "a second wait for volumes mounts them", "podworker.go",
		"int(r.volumeFailures) < failures", "int(r.volumeFailures) < min(failures, 1)"),
	fault(invariant.GraceKept, "no grace period is longer than 2 s", "termination.go",
		"	return max(grace, shortestGrace)", "	return min(max(grace, shortestGrace), 2)"),
	fault(invariant.WithinCapacity, "each pod is admitted as if it were alone", "admission.go",
		"if quantity.Cmp(free) <= 0 {", "if quantity.Cmp(capacity) <= 0 {"),
	fault(invariant.Forward, "a final phase of another client is overwritten", "publication.go",
		"case isTerminal(api.Phase) && s.Phase != api.Phase && !", "case isTerminal(api.Phase) && pod == nil && !"),
	fault(invariant.OwnPods, "a pod that has ended is removed", "fleet.go",
		"r.pod.DeletionTimestamp != nil && r.api == apiPresent", "r.api == apiPresent"),
	fault(invariant.ReadyTrue, "a container is ready before its first probe", "probes.go",
		"		return &probe{result: ProbeFailure}", "		return &probe{result: ProbeSuccess}"),
	fault(invariant.ReadyInTime, "a status that was overwritten is restored after minutes", "noderecord.go",
		"now.Sub(n.compares)%reconcilePeriod)", "now.Sub(n.compares)%reconcilePeriod+30*reconcilePeriod)"),
	fault(invariant.ReadyInTime, "a write that has failed often waits for a minute", "task.go",
		"wait = min(wait, n.nextCompare(now).Sub(now))", "wait = min(wait, time.Minute)"),
	fault(invariant.Forward, "a status may revive a container that its policy leaves", "status.go",
		"	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || mayRestartAll(pod) {",
		"	if pod != nil {"),
	fault(invariant.ReadyInTime, "a node that is back compares its statuses one period too late", "faults.go",
		"f.spread(now.Add(returnPause), reconcilePeriod/2)",
		"f.spread(now.Add(returnPause+reconcilePeriod), reconcilePeriod/2)"),
	fault(invariant.Finished, "what was deleted while no kubelet ran goes on to run", "visits.go",
		"	case f.synced:\n		f.adoptOrphans(now, n)\n", "	case f.synced:\n"),
	fault(invariant.Started, "a crash loop waits for an hour", "plan.go",
		"Max: longestBackOff}.Delay(b.before)", "Max: 12 * longestBackOff}.Delay(b.before)"),
	fault(invariant.StatusConverged, "restarts are not counted", "containerstatus.go",
		"RestartCount: latest.Attempt, State:", "State:"),
	fault(invariant.PhaseTrue, "a pod has succeeded when one of its containers has", "containerstatus.go",
		"	case n.stopped == n.succeeded:", "	case n.succeeded > 0:"),
	fault(invariant.OneStatic, "a static pod does not wait for the former one of its name", "visits.go",
		"	case !r.node.ending(nameOf(r.pod), r.pod.UID):", "	default:"),
	fault(invariant.StaysUp, "the end of a mirror ends its static pod", "mirror.go",
		"	delete(n.mirrors, name)\n	f.requestMirror(now, n, name)",
		"	delete(n.mirrors, name)\n	if r := f.staticRecord(n, name); r != nil {\n		f.move(now, r, workerTerminating)\n	}\n"+
			"	f.requestMirror(now, n, name)"),
	fault(invariant.MirrorShown, "a mirror that is to be deleted stays", "mirror.go",
		"m.pod.DeletionTimestamp != nil || m.of(static, node) == nil", "m.of(static, node) == nil"),
	fault(invariant.Started, "a mirror that another client has failed stays so", "publication.go",
		"s.Phase != api.Phase && !isMirror(pod):", "s.Phase != api.Phase:"),
	fault(invariant.Quiet, "a status that has not changed is written", "publication.go",
		"!isLegal(pod, old, &s) || p.version > 0 && sameStatus(old, &s)", "!isLegal(pod, old, &s)"),
	fault(invariant.EndShown, "the result of an older write counts for the newer", "publication.go",
		"p.written = max(p.written, version)", "p.written = p.version"),
	fault(invariant.Finished, "what the runtime has not told is not looked for", "relist.go",
		"	if n.loop != loopRunning || !f.synced {", "	if n.loop != loopRunning || f.synced {"),
	fault(invariant.StaysDeleted, "a deletion does not end a pod that is synced", "configuration.go",
		"	case workerSyncing:\n		if r.pod.DeletionTimestamp != nil || isTerminal", "	case workerSyncing:\n		if isTerminal"),
	faultIn(invariant.OwnPods, "a deletion is not guarded by the UID", "edge/perform.go",
		"metav1.NewUIDPreconditions(string(task.Pod.UID))", "nil"),
}
