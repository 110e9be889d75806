package kubelets_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/kubelets"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// inBoth runs a test in a world with the model's own kubelets, and in one with
// those of hollownode. What the test says holds of both. There are machines a
// and b, and three pods of a Deployment on each.
func inBoth(t *testing.T, test func(t *testing.T, w *model.World, seen *log)) {
	t.Helper()
	for _, hollow := range []bool{false, true} {
		name := "model"
		if hollow {
			name = "hollownode"
		}
		t.Run(name, func(t *testing.T) {
			w := model.New(model.Config{
				Seed: 3, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
				BeatInterval: 10 * time.Second, StatusInterval: 5 * time.Minute,
			})
			if hollow {
				k, err := kubelets.New(w)
				require.NoError(t, err)
				w.Run(k)
			}
			seen := &log{world: w, pods: map[string][]change{}}
			w.AddMachine("a", "zone", "rack")
			w.AddMachine("b", "zone", "rack")
			owner := w.AddWorkload("web", model.AtOnce, nil)
			for range 3 {
				owner.Place("a")
				owner.Place("b")
			}
			w.Watch(seen)
			test(t, w, seen)
		})
	}
}

// log is what happens to pods and to the nodes.
type log struct {
	model.Unimpressed

	world *model.World
	pods  map[string][]change // by name
	nodes int
}

// change says what a write has changed of a pod.
type change struct {
	at                   time.Duration
	bound, leaving, gone bool
	ready                corev1.ConditionStatus
}

func (l *log) WrotePod(w model.PodWrite) {
	shown, gone := w.After, w.After == nil
	if gone {
		shown = w.Before
	}
	l.pods[shown.Name] = append(l.pods[shown.Name], change{
		l.world.Elapsed(), shown.Spec.NodeName != "", shown.DeletionTimestamp != nil, gone, readyOf(shown),
	})
}

func (l *log) WroteNode(model.NodeWrite) { l.nodes++ }

// first returns when a pod was first as wanted.
func (l *log) first(t *testing.T, pod string, wanted func(change) bool) time.Duration {
	t.Helper()
	for _, c := range l.pods[pod] {
		if wanted(c) {
			return c.at
		}
	}
	require.Fail(t, "never happened", pod)
	return 0
}

func readyOf(pod *corev1.Pod) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

func conditionOf(m *model.Machine, kind corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range m.Node().Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{}
}

func runUntil(w *model.World, at time.Duration) {
	for w.Step(at) {
	}
}

// longestBeat is how far two heartbeats of a machine are apart at the most.
const longestBeat = 10400 * time.Millisecond

func TestAtRestThereAreOnlyHeartbeats(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, seen *log) {
		const hour = time.Hour
		for w.Step(hour) {
			for _, m := range w.Machines() {
				require.Less(t, w.Elapsed()-m.LastBeat, longestBeat+time.Nanosecond)
			}
		}
		require.Empty(t, seen.pods)
		for _, m := range w.Machines() {
			require.InDelta(t, 353, m.Beats, 6, "one in 10 s to 10.4 s")
			require.Equal(t, corev1.ConditionTrue, conditionOf(m, corev1.NodeReady).Status)
		}
		require.InDelta(t, 24, seen.nodes, 4, "a report in 5 min from each, and the first one")
	})
}

func TestAPodTakesTwoSecondsToStartAndOneToStop(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, seen *log) {
		runUntil(w, time.Minute)
		w.DeletePod("web-0")
		runUntil(w, 2*time.Minute)
		left := seen.first(t, "web-0", func(c change) bool { return c.leaving })
		gone := seen.first(t, "web-0", func(c change) bool { return c.gone })
		require.InDelta(t, time.Second, gone-left, float64(time.Millisecond))

		bound := seen.first(t, "web-6", func(c change) bool { return c.bound })
		ready := seen.first(t, "web-6", func(c change) bool { return c.ready == corev1.ConditionTrue })
		require.InDelta(t, 2*time.Second, ready-bound, float64(time.Millisecond))
		require.Equal(t, corev1.PodRunning, w.Pod("web-6").Status.Phase)
	})
}

// A machine that is cut off ends no pod, starts none and is not heard. When it
// is back it does all that at once.
func TestASilentMachineDoesWhatIsWantedWhenItIsBack(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		a := w.Machine("a")
		runUntil(w, time.Minute)
		restore := a.Silence()
		beats := a.Beats
		w.DeletePod("web-0")
		runUntil(w, 5*time.Minute)
		require.Equal(t, beats, a.Beats)
		require.NotNil(t, w.Pod("web-0"))
		restore()
		runUntil(w, 5*time.Minute+2500*time.Millisecond)
		require.Greater(t, a.Beats, beats, "it is heard within a second")
		require.Nil(t, w.Pod("web-0"), "stopped a second later")
		require.NotNil(t, w.Pod("web-2"), "its other pods go on")
	})
}

// Without an API server for kubelets they try, in vain.
func TestKubeletsTryWhileTheAPIServerIsDown(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		a := w.Machine("a")
		runUntil(w, time.Minute)
		up := w.Down(false, true)
		runUntil(w, 3*time.Minute)
		require.Greater(t, a.LastTry, 3*time.Minute-longestBeat)
		require.Less(t, a.LastBeat, time.Minute+time.Nanosecond)
		up()
		runUntil(w, 3*time.Minute+longestBeat)
		require.Greater(t, a.LastBeat, 3*time.Minute)
		require.Equal(t, corev1.ConditionTrue, conditionOf(a, corev1.NodeReady).Status)
	})
}

func TestAConditionIsReportedAtOnce(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		a := w.Machine("a")
		runUntil(w, time.Minute)
		restore := a.Fail()
		require.Equal(t, corev1.ConditionFalse, conditionOf(a, corev1.NodeReady).Status)
		require.Equal(t, w.Now(), conditionOf(a, corev1.NodeReady).LastTransitionTime.UTC())
		runUntil(w, 2*time.Minute)
		require.Equal(t, corev1.ConditionFalse, conditionOf(a, corev1.NodeReady).Status)
		restore()
		require.Equal(t, corev1.ConditionTrue, conditionOf(a, corev1.NodeReady).Status)

		release := a.Press()
		require.Equal(t, corev1.ConditionTrue, conditionOf(a, corev1.NodeMemoryPressure).Status)
		release()
		require.Equal(t, corev1.ConditionFalse, conditionOf(a, corev1.NodeMemoryPressure).Status)
		runUntil(w, 3*time.Minute)
		require.Len(t, w.PodsOn("a"), 3)
	})
}

// What another client has written over a node's status is put right with the
// next heartbeat.
func TestAnOverwrittenNodeIsPutRight(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		a := w.Machine("a")
		runUntil(w, time.Minute)
		a.Edit(func(node *corev1.Node) {
			node.Status.Conditions = append([]corev1.NodeCondition{}, node.Status.Conditions...)
			for i := range node.Status.Conditions {
				node.Status.Conditions[i].Status = corev1.ConditionUnknown
			}
		})
		runUntil(w, time.Minute+longestBeat)
		require.Equal(t, corev1.ConditionTrue, conditionOf(a, corev1.NodeReady).Status)
	})
}

// So is the status of a pod. A kubelet looks each ten seconds.
func TestAnOverwrittenPodIsReadyAgain(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		runUntil(w, time.Minute)
		client := w.NewClient("controller", 1, func() {})
		patch := `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`
		client.Call(&network.Call{Verb: network.Patch, Kind: network.Pods, Name: "web-0", Subresource: "status",
			PatchType: types.StrategicMergePatchType, Data: []byte(patch)}, func(*network.Call) {})
		runUntil(w, time.Minute+100*time.Millisecond)
		require.Equal(t, corev1.ConditionFalse, readyOf(w.Pod("web-0")))
		runUntil(w, time.Minute+11*time.Second)
		require.Equal(t, corev1.ConditionTrue, readyOf(w.Pod("web-0")))
	})
}

// A kubelet under memory pressure does not admit pods that request nothing.
// Their owner makes others until it does.
func TestAKubeletUnderPressureRejectsPods(t *testing.T) {
	w := model.New(model.Config{
		Seed: 3, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		BeatInterval: 10 * time.Second, StatusInterval: 5 * time.Minute,
	})
	k, err := kubelets.New(w)
	require.NoError(t, err)
	w.Run(k)
	a := w.AddMachine("a", "zone", "rack")
	w.AddWorkload("agent", model.InPlace, nil).Place("a")
	runUntil(w, time.Minute)
	release := a.Press()
	w.DeletePod("agent-0")
	runUntil(w, time.Minute+5*time.Second)
	require.Len(t, w.PodsOn("a"), 1)
	rejected := w.PodsOn("a")[0]
	require.Equal(t, corev1.PodFailed, rejected.Status.Phase)
	require.Equal(t, "Evicted", rejected.Status.Reason)
	runUntil(w, 5*time.Minute)
	require.Len(t, w.PodsOn("a"), 1)
	require.NotEqual(t, rejected.UID, w.PodsOn("a")[0].UID)
	release()
	runUntil(w, 5*time.Minute+15*time.Second)
	require.Len(t, w.PodsOn("a"), 1)
	require.Equal(t, corev1.ConditionTrue, readyOf(w.PodsOn("a")[0]))
}

// The clock of a machine shows in all that it reports.
func TestAWrongClockShows(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		a := w.Machine("a")
		runUntil(w, time.Minute)
		back := a.StepClock(-time.Hour)
		a.Fail()
		runUntil(w, time.Minute+longestBeat)
		late := w.Now().Add(-time.Hour)
		ready := conditionOf(a, corev1.NodeReady)
		require.WithinDuration(t, late, a.Lease().Spec.RenewTime.Time, longestBeat)
		require.WithinDuration(t, late, ready.LastHeartbeatTime.Time, longestBeat)
		require.WithinDuration(t, late, ready.LastTransitionTime.Time, longestBeat)
		back()
		runUntil(w, 3*time.Minute)
		require.WithinDuration(t, w.Now(), a.Lease().Spec.RenewTime.Time, longestBeat)
	})
}

// A node that is deleted and registers again is another one, and its pods are
// ready on it.
func TestANodeThatRegistersAgainGoesOn(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		a := w.Machine("a")
		runUntil(w, time.Minute)
		former := a.Node().UID
		register := a.Unregister()
		beats := a.Beats
		runUntil(w, time.Minute+30*time.Second)
		require.Nil(t, a.Node())
		require.Equal(t, beats, a.Beats)
		register()
		require.NotEqual(t, former, a.Node().UID)
		runUntil(w, 3*time.Minute)
		require.Greater(t, a.Beats, beats)
		require.Equal(t, corev1.ConditionTrue, conditionOf(a, corev1.NodeReady).Status)
		require.Len(t, w.PodsOn("a"), 3)
		for _, pod := range w.PodsOn("a") {
			require.Equal(t, corev1.ConditionTrue, readyOf(pod), pod.Name)
		}
	})
}

// A machine that surfaces is heard once, and is as silent as before.
func TestAMachineSurfaces(t *testing.T) {
	inBoth(t, func(t *testing.T, w *model.World, _ *log) {
		a := w.Machine("a")
		runUntil(w, time.Minute)
		restore := a.Silence()
		runUntil(w, 2*time.Minute)
		beats := a.Beats
		a.Surface()
		require.Equal(t, beats+1, a.Beats)
		require.Equal(t, w.Elapsed(), a.LastBeat)
		runUntil(w, 4*time.Minute)
		require.Equal(t, beats+1, a.Beats)
		restore()
		runUntil(w, 4*time.Minute+time.Second)
		require.Greater(t, a.Beats, beats+1, "it was paused, and does not wait for a retry")
	})
}

// Ready is what the core finds. A machine that is not ready has no network for
// pods: those that are there go on and can end, and none starts.
func TestAMachineThatIsNotReadyHasNoNetwork(t *testing.T) {
	w := model.New(model.Config{
		Seed: 3, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		BeatInterval: 10 * time.Second, StatusInterval: 5 * time.Minute,
	})
	k, err := kubelets.New(w)
	require.NoError(t, err)
	w.Run(k)
	a := w.AddMachine("a", "zone", "rack")
	owner := w.AddWorkload("agent", model.InPlace, nil)
	owner.Place("a")
	owner.Place("a")
	runUntil(w, time.Minute)
	restore := a.Fail()
	ready := conditionOf(a, corev1.NodeReady)
	require.Contains(t, ready.Message, "container runtime network not ready", "the core says so")
	w.DeletePod("agent-0")
	runUntil(w, 3*time.Minute)
	require.Nil(t, w.Pod("agent-0"))
	require.Equal(t, corev1.ConditionTrue, readyOf(w.Pod("agent-1")))
	require.Len(t, w.PodsOn("a"), 2)
	for _, pod := range w.PodsOn("a") {
		require.Equal(t, pod.Name == "agent-1", readyOf(pod) == corev1.ConditionTrue, pod.Name)
	}
	restore()
	require.Equal(t, "KubeletReady", conditionOf(a, corev1.NodeReady).Reason)
	runUntil(w, 3*time.Minute+10*time.Second)
	for _, pod := range w.PodsOn("a") {
		require.Equal(t, corev1.ConditionTrue, readyOf(pod), pod.Name)
	}
}
