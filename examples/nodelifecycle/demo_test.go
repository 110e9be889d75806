package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// prepared sets the cluster of the demonstration up, with flags besides its own.
func prepared(t *testing.T, seed uint64, args ...string) *simulation.Simulation {
	t.Helper()
	flags := command(new(settings)).FlagSet()
	require.NoError(t, flags.Parse(args))
	played, err := newCluster(flags, seed)
	require.NoError(t, err)
	return played
}

// demonstrated runs the demonstration at once, and returns what it wrote and
// the result.
func demonstrated(t *testing.T, played *simulation.Simulation, by judge.Settings) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := newDemo(played, by).Run(t.Context(), demonstration.AtOnce, demonstration.NewScreen(&out, played.Elapsed))
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	return out.String(), err
}

// The controller keeps what the summary claims, whatever chance does.
func TestDemonstrationHolds(t *testing.T) {
	for seed := range uint64(5) {
		played := prepared(t, seed)
		seen := &taintings{played: played}
		played.World().Watch(seen)
		out, err := demonstrated(t, played, judged(played))
		require.NoError(t, err, "seed %d\n%s", seed, out)
		require.Equal(t, 41*time.Second, played.Elapsed())
		require.NotContains(t, out, "FAIL")
		require.Regexp(t, `\nok    each of the 2\d pods that had to leave left in time\n`, out)
		// No node of a zone that is dying is tainted either, although the last one is
		// not silent yet.
		for _, at := range seen.at {
			require.False(t, at > 28*time.Second && at < 38*time.Second, "seed %d: after %v", seed, at)
		}
	}
}

// taintings are when nodes got a NoExecute taint.
type taintings struct {
	model.Unimpressed

	played *simulation.Simulation
	at     []time.Duration
}

func (w *taintings) WroteNode(write model.NodeWrite) {
	if write.Before != nil && write.After != nil && isTainted(write.After) && !isTainted(write.Before) {
		w.at = append(w.at, w.played.Elapsed())
	}
}

// Each run shows the same, to the byte.
func TestDemonstrationIsTheSameEachTime(t *testing.T) {
	played := prepared(t, 0)
	first, err := demonstrated(t, played, judged(played))
	require.NoError(t, err)
	require.Contains(t, first, "zone a  Normal             17 ready   0 unknown   3 tainted   15 evicted\n")
	played = prepared(t, 0)
	again, err := demonstrated(t, played, judged(played))
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestDemonstrationTakesFlagsOfTheController(t *testing.T) {
	played := prepared(t, 0, "--node-monitor-grace-period=8s", "--node-eviction-rate=2", "--secure-port=1")
	require.Equal(t, 8*time.Second, played.Options().MonitorGracePeriod)
	require.Equal(t, time.Second, played.Options().MonitorPeriod)
	out, err := demonstrated(t, played, judged(played))
	require.NoError(t, err, out)
	require.Regexp(t, `from silence to Unknown: 7\.\ds first`, out)
	require.Regexp(t, `\nnodes tainted NoExecute +3 +0 `, out, "they are back before the grace period ends")
}

// Ctrl-C ends it without a summary, and without an error.
func TestDemonstrationIsInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	played := prepared(t, 0)
	played.World().At(10*time.Second, stop)
	var out bytes.Buffer
	screen := demonstration.NewScreen(&out, played.Elapsed)
	require.NoError(t, newDemo(played, judged(played)).Run(ctx, demonstration.AtOnce, screen))
	require.Less(t, played.Elapsed(), 11*time.Second)
	require.NotContains(t, out.String(), "What")
}

// A controller that has other flags than it is judged by does not keep what the
// summary claims.
func TestSummaryFindsAControllerThatDiffers(t *testing.T) {
	for name, test := range map[string]struct {
		flag  string
		by    func(*judge.Settings)
		finds string
	}{
		"it evicts nothing": {"--action=dry-run", func(by *judge.Settings) { by.Action = judge.Delete },
			"FAIL  each of the 15 pods that had to leave left in time\n      except for 15: pod"},
		"it taints nothing": {"--node-eviction-rate=0", func(by *judge.Settings) { by.Rate = 1 },
			"FAIL  each silent node was declared, and tainted, in time\n      except for"},
		"it taints only in a partial disruption": {"--node-eviction-rate=0", func(*judge.Settings) {},
			"FAIL  pods had to leave, and did\n      except for 1: none of the nodes"},
		"it declares too late": {"--node-monitor-grace-period=12s",
			func(by *judge.Settings) { by.Grace = 4 * time.Second },
			"FAIL  each silent node was declared, and tainted, in time\n      except for"},
		"it taints too fast": {"--node-eviction-rate=2", func(by *judge.Settings) { by.Rate = 1 },
			"FAIL  zone a stayed within its rate\n      except for"},
		"it declares too early": {"--node-monitor-grace-period=3s",
			func(by *judge.Settings) { by.Grace = 4 * time.Second },
			"FAIL  no node was declared that had a heartbeat in its grace period\n      except for"},
		"it does not wait after an outage": {"--resume-delay=4s",
			func(by *judge.Settings) { by.Window = 6 * time.Second },
			"FAIL  no node was tainted while all were down, nor a grace period after\n      except for"},
	} {
		t.Run(name, func(t *testing.T) {
			played := prepared(t, 0, test.flag)
			by := judged(played)
			test.by(&by)
			out, err := demonstrated(t, played, by)
			require.ErrorIs(t, err, demonstration.ErrNotHeld, out)
			require.Contains(t, out, test.finds)
		})
	}
}

// What the controller does besides, and is not as the summary claims, is found.
func TestSummaryFindsWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		at    time.Duration
		does  func(t *testing.T, s *simulation.Simulation)
		finds string
	}{
		"a pod leaves a node without a taint": {9 * time.Second, deletes("b-7", "patient"),
			"FAIL  each of the 23 pods that left had a reason to\n      except for 1: "},
		"a pod that tolerates a taint for ever leaves": {20 * time.Second, deletes("a-0", "faithful"),
			"FAIL  each of the 23 pods that left had a reason to\n      except for 1: "},
		"a pod leaves early": {14 * time.Second, deletes("a-0", "patient"),
			"FAIL  no pod left before its toleration ended\n      except for 1: "},
		"a node is tainted that is ready": {20 * time.Second, taints("b-7"),
			"FAIL  no node was tainted that had been ready for a grace period\n      except for 1: b-7\n"},
		"a node is tainted while all are down": {33 * time.Second, taints("b-7"),
			"FAIL  no node was tainted while all were down, nor a grace period after\n      except for 1: "},
		"a node is tainted just after": {36 * time.Second, taints("b-7"),
			"FAIL  no node was tainted while all were down, nor a grace period after\n      except for 1: "},
		"nodes are tainted too fast": {9950 * time.Millisecond, taints("a-0", "a-1", "a-2"),
			"FAIL  zone a stayed within its rate\n      except for "},
		"nothing happens": {0, func(_ *testing.T, s *simulation.Simulation) {
			s.World().Halt()
			for _, node := range s.World().Machines() {
				restore := node.Silence()
				s.World().At(60*time.Second, restore)
			}
		}, "FAIL  pods had to leave, and did\n      except for 1: none of the nodes that are silent for good;\n"},
	} {
		t.Run(name, func(t *testing.T) {
			played := prepared(t, 0)
			played.World().At(test.at, func() { test.does(t, played) })
			out, err := demonstrated(t, played, judged(played))
			require.ErrorIs(t, err, demonstration.ErrNotHeld, out)
			require.Contains(t, out, test.finds)
		})
	}
}

// deletes has the controller delete a pod of a workload from a node.
func deletes(node, workload string) func(*testing.T, *simulation.Simulation) {
	return func(t *testing.T, s *simulation.Simulation) {
		t.Helper()
		for _, pod := range s.World().Workload(workload).Pods() {
			if pod.Spec.NodeName == node {
				s.Replicas()[0].Client().Call(&network.Call{
					Verb: network.Delete, Kind: network.Pods, Name: pod.Name,
					Preconditions: &metav1.Preconditions{UID: &pod.UID},
				}, func(call *network.Call) { require.NoError(t, call.Err) })
				return
			}
		}
		t.Errorf("%s has no pod of %s", node, workload)
	}
}

// taints has the controller give nodes its NoExecute taint.
func taints(nodes ...string) func(*testing.T, *simulation.Simulation) {
	return func(t *testing.T, s *simulation.Simulation) {
		t.Helper()
		for _, node := range nodes {
			s.Replicas()[0].Client().Call(&network.Call{
				Verb: network.Patch, Kind: network.Nodes, Name: node, PatchType: types.JSONPatchType,
				Data: fmt.Appendf(nil,
					`[{"op":"add","path":"/spec/taints","value":[{"key":%q,"effect":%q,"timeAdded":%q}]}]`,
					corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute, s.World().Now().Format(time.RFC3339)),
			}, func(call *network.Call) { require.NoError(t, call.Err) })
		}
	}
}

// What the judge has found is told by the claim that is
// about it.
func TestSummaryTellsWhatTheJudgeFound(t *testing.T) {
	summary := &report.Summary{Zones: []report.Zone{{Name: "a"}, {Name: "b"}}}
	summary.Cluster.Pods.Evicted, summary.Departures = 1, []report.Departure{{Step: forGood, Pods: 1}}
	var out bytes.Buffer
	require.NoError(t, demonstration.PrintClaims(&out, claims(summary, nil, nil)))
	for _, c := range []struct {
		found       judge.Invariant
		text, claim string
	}{
		{judge.InTime, "", "each of the 2 pods that had to leave left in time"},
		{judge.EvictedInOrder, "", "each of the 2 pods that had to leave left in time"},
		{judge.AsConfigured, "", "each of the 1 pods that left had a reason to"},
		{judge.NeverEarly, "it need not leave,", "each of the 1 pods that left had a reason to"},
		{judge.NeverEarly, "", "no pod left before its toleration ended"},
		{judge.WithinRate, "", "zone b stayed within its rate"},
		{judge.KnownFirst, "", "zone b stayed within its rate"},
		{judge.DeclaredInTime, "", "each silent node was declared, and tainted, in time"},
		{judge.NoIdleToken, "", "each silent node was declared, and tainted, in time"},
		{judge.NotDeclaredAlive, "", "no node was declared that had a heartbeat in its grace period"},
		{judge.SparedInOutage, "", "no node was tainted while all were down, nor a grace period after"},
		{judge.OthersUntouched, "", "everything else was as the controller promises"},
	} {
		out.Reset()
		found := []judge.Violation{{Invariant: c.found, Text: c.text + " it taints node b-7 wrongly"}}
		err := demonstration.PrintClaims(&out, claims(summary, nil, found))
		require.ErrorIs(t, err, demonstration.ErrNotHeld)
		require.Contains(t, out.String(), fmt.Sprintf("\nFAIL  %s\n      except for 1:", c.claim))
		require.Contains(t, out.String(), "it taints node b-7 wrongly;")
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("FAIL")))
	}
}

func TestPictureFitsATerminal(t *testing.T) {
	played := prepared(t, 0)
	var out bytes.Buffer
	screen := demonstration.NewPicture(&out, func() time.Duration { return played.Elapsed() + 1000*time.Second })
	require.NoError(t, newDemo(played, judged(played)).Run(t.Context(), demonstration.AtOnce, screen))
	require.Contains(t, out.String(), "FullDisruption")
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	for i, title := range titles {
		require.Contains(t, out.String(), "s  "+title)
		require.Equal(t, played.Scenario().Script[i].For > 0, bytes.Contains(out.Bytes(), []byte("over: "+title)))
	}
}
