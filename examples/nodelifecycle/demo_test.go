package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/invariant"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// newPlay sets the demonstration up, with flags besides its own.
func newPlay(t *testing.T, seed uint64, args ...string) *simulation.Simulation {
	t.Helper()
	flags := command(new(settings)).FlagSet()
	require.NoError(t, flags.Parse(args))
	require.NoError(t, demonstration.SetDefaults(flags, demoDefaults))
	s := demoScenario(flags)
	s.Seed = seed
	played, err := simulation.New(s)
	require.NoError(t, err)
	return played
}

// demonstrated runs the demonstration at once, and returns what it wrote and
// the result.
func demonstrated(t *testing.T, played *simulation.Simulation) (string, error) {
	t.Helper()
	var out bytes.Buffer
	screen := demonstration.NewScreen(&out, played.Elapsed)
	err := demonstrateOn(t.Context(), played, demonstration.AtOnce, screen, &out)
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	return out.String(), err
}

// The controller keeps what the summary claims, whatever chance does.
func TestDemonstrationHolds(t *testing.T) {
	for seed := range uint64(5) {
		played := newPlay(t, seed)
		seen := watch(played)
		out, err := demonstrated(t, played)
		require.NoError(t, err, "seed %d\n%s", seed, out)
		require.Equal(t, demoLength, played.Elapsed())
		require.NotContains(t, out, "FAIL")
		require.Contains(t, out, "ok    each of the 15 pods that had to leave left\n")
		// No node of a zone that is dying is tainted either, although the last one is
		// not silent yet.
		for name, n := range seen.nodes {
			for _, at := range n.taints {
				require.False(t, at > 28*time.Second && at < 38*time.Second, "seed %d: %s after %v", seed, name, at)
			}
		}
	}
}

// Each run shows the same, to the byte.
func TestDemonstrationIsTheSameEachTime(t *testing.T) {
	first, err := demonstrated(t, newPlay(t, 0))
	require.NoError(t, err)
	again, err := demonstrated(t, newPlay(t, 0))
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestDemonstrationTakesFlagsOfTheController(t *testing.T) {
	played := newPlay(t, 0, "--node-monitor-grace-period=8s", "--node-eviction-rate=2", "--secure-port=1")
	require.Equal(t, 8*time.Second, played.Options().MonitorGracePeriod)
	require.Equal(t, time.Second, played.Options().MonitorPeriod)
	out, err := demonstrated(t, played)
	require.NoError(t, err, out)
	require.Regexp(t, `from silence to Unknown: 7\.\ds first`, out)
	require.Regexp(t, `\nb +0 +0 +0%\n`, out, "they are back before the grace period ends")
}

// Ctrl-C ends it without a summary, and without an error.
func TestDemonstrationIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	played := newPlay(t, 0)
	played.World().At(10*time.Second, stop)
	var out bytes.Buffer
	screen := demonstration.NewScreen(&out, played.Elapsed)
	require.NoError(t, demonstrateOn(ctx, played, demonstration.AtOnce, screen, &out))
	require.Less(t, played.Elapsed(), 11*time.Second)
	require.NotContains(t, out.String(), "What")
}

// What happens in the cluster and is not as the summary claims is found in what
// the API server stored.
func TestSummaryFindsWhatIsWrong(t *testing.T) {
	noExecute := []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
	for name, test := range map[string]struct {
		at      time.Duration
		meddles func(t *testing.T, s *simulation.Simulation)
		finds   string
	}{
		"a pod leaves a node without a taint": {9 * time.Second, func(t *testing.T, s *simulation.Simulation) {
			s.World().DeletePod(podOn(t, s, "b-7", patient))
		}, "FAIL  each of the 24 pods that left had a reason to\n      except for 1: patient-"},
		"a pod that tolerates a taint for ever leaves": {20 * time.Second, func(t *testing.T, s *simulation.Simulation) {
			s.World().DeletePod(podOn(t, s, "a-0", faithful))
		}, "had a reason to\n      except for 1: faithful-"},
		"a pod stays that must leave": {5 * time.Second, func(t *testing.T, s *simulation.Simulation) {
			s.World().Tolerate(podOn(t, s, "a-0", patient), []corev1.Toleration{{Operator: corev1.TolerationOpExists}})
		}, "FAIL  each of the 15 pods that had to leave left\n      except for 1: patient-"},
		"a pod stays that must leave at once": {5 * time.Second, func(t *testing.T, s *simulation.Simulation) {
			s.World().Tolerate(podOn(t, s, "a-0", impatient), []corev1.Toleration{{Operator: corev1.TolerationOpExists}})
		}, "FAIL  each of the 15 pods that had to leave left\n      except for 1: impatient-"},
		"a node is tainted that is ready": {20 * time.Second, func(_ *testing.T, s *simulation.Simulation) {
			s.World().Machine("b-7").Edit(func(node *corev1.Node) { node.Spec.Taints = noExecute })
		}, "FAIL  no node was tainted that had been ready for a grace period\n      except for 1: b-7\n"},
		"a node is tainted while all are down": {33 * time.Second, func(_ *testing.T, s *simulation.Simulation) {
			s.World().Machine("b-7").Edit(func(node *corev1.Node) { node.Spec.Taints = noExecute })
		}, "FAIL  no node was tainted while all were down, nor a grace period after\n      except for 1: b-7"},
		"a node is tainted just after": {36 * time.Second, func(_ *testing.T, s *simulation.Simulation) {
			s.World().Machine("b-7").Edit(func(node *corev1.Node) { node.Spec.Taints = noExecute })
		}, "FAIL  no node was tainted while all were down, nor a grace period after\n      except for 1: b-7"},
		"nodes are tainted too fast": {9950 * time.Millisecond, func(_ *testing.T, s *simulation.Simulation) {
			for _, node := range []string{"a-0", "a-1", "a-2"} {
				s.World().Machine(node).Edit(func(node *corev1.Node) { node.Spec.Taints = noExecute })
			}
		}, "FAIL  zone a stayed within its rate\n      except for 1: 300% of what is allowed;"},
		"nothing happens": {0, func(_ *testing.T, s *simulation.Simulation) {
			s.World().Halt()
			for _, node := range s.World().Machines() {
				restore := node.Silence()
				s.World().At(60*time.Second, restore)
			}
		}, "FAIL  pods had to leave, and did\n      except for 1: none\n"},
	} {
		t.Run(name, func(t *testing.T) {
			played := newPlay(t, 0)
			played.World().At(test.at, func() { test.meddles(t, played) })
			out, err := demonstrated(t, played)
			require.ErrorIs(t, err, demonstration.ErrNotHeld, out)
			require.Contains(t, out, test.finds)
		})
	}
}

// podOn returns the first pod of a workload on a node.
func podOn(t *testing.T, s *simulation.Simulation, node, workload string) string {
	t.Helper()
	for _, pod := range s.World().Workload(workload).Pods() {
		if pod.Spec.NodeName == node {
			return pod.Name
		}
	}
	t.Fatalf("%s has no pod of %s", node, workload)
	return ""
}

// What the judge of examples/outage has found is told by the claim that is
// about it.
func TestSummaryTellsWhatTheJudgeFound(t *testing.T) {
	held := func() *verdict {
		return &verdict{mustLeave: 1, left: 1, zones: map[string]*zoneVerdict{"a": {peak: 1}, "b": {}}}
	}
	require.NoError(t, held().print(&bytes.Buffer{}, nil))
	for found, claim := range map[invariant.Invariant]string{
		invariant.InTime:           "each of the 1 pods that had to leave left",
		invariant.SparedWhenReady:  "each of the 1 pods that left had a reason to",
		invariant.NeverEarly:       "no pod left before its toleration ended",
		invariant.WithinRate:       "zone b stayed within its rate",
		invariant.KnownFirst:       "zone b stayed within its rate",
		invariant.NotDeclaredAlive: "no node was declared that had a heartbeat in its grace period",
		invariant.SparedInOutage:   "no node was tainted while all were down, nor a grace period after",
		invariant.OthersUntouched:  "everything else was as the controller promises",
	} {
		var out bytes.Buffer
		err := held().print(&out, []invariant.Violation{{Invariant: found, Text: "it taints node b-7 wrongly"}})
		require.ErrorIs(t, err, demonstration.ErrNotHeld)
		require.Contains(t, out.String(), fmt.Sprintf("\nFAIL  %s\n      except for 1:", claim))
		require.Contains(t, out.String(), "it taints node b-7 wrongly;")
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("FAIL")))
	}
}

// The rate is that of decisions: what is allowed in a while is one node, and
// what the rate adds.
func TestPeakIsOfTheFastestWhile(t *testing.T) {
	at := func(seconds ...float64) (all []time.Duration) {
		for _, s := range seconds {
			all = append(all, time.Duration(s*float64(time.Second)))
		}
		return all
	}
	require.Zero(t, peak(at(3), 1))
	require.InDelta(t, 1, peak(at(12, 10, 11), 1), 1e-9)
	require.InDelta(t, 2/1.5, peak(at(1, 10, 10.5, 20), 1), 1e-9)
	require.InDelta(t, 4/3.1, peak(at(10, 10.7, 11.4, 12.1), 1), 1e-9, "little by little")
	require.InDelta(t, 1, peak(at(10, 10.5), 2), 1e-9)
}

func TestPictureFitsATerminal(t *testing.T) {
	played := newPlay(t, 0)
	var out bytes.Buffer
	screen := demonstration.NewPicture(&out, func() time.Duration { return played.Elapsed() + 1000*time.Second })
	require.NoError(t, demonstrateOn(t.Context(), played, demonstration.AtOnce, screen, &out))
	require.Contains(t, out.String(), "FullDisruption")
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	for _, c := range cues() {
		require.Contains(t, out.String(), c.text)
	}
}
