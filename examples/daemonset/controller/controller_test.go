package controller_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/timedqueue"
)

// applyStatus applies a merge patch of a status.
func applyStatus(t require.TestingT, set *appsv1.DaemonSet, patch []byte) {
	var change struct {
		Metadata struct{ UID types.UID }
		Status   json.RawMessage
	}
	require.NoError(t, json.Unmarshal(patch, &change))
	require.Equal(t, set.UID, change.Metadata.UID)
	require.NoError(t, json.Unmarshal(change.Status, &set.Status))
}

// A set goes from claiming through its revision to its pods and its status.
func TestASetGetsItsRevisionItsPodsAndItsStatus(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addNode("bee", corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule})
	w.addNode("cow")
	w.addSet("agent")
	require.Empty(t, w.run(), "nothing is known before MarkSynced")
	w.MarkSynced(w.now)
	log := w.pass(time.Minute)
	require.Equal(t, "agent: revise, create true, update 0, relabel 0, delete 0", log[0])
	require.Equal(t, []string{"ant", "cow"}, w.podsOn("agent"))
	require.Equal(t, appsv1.DaemonSetStatus{
		CurrentNumberScheduled: 2, DesiredNumberScheduled: 2, NumberReady: 2, UpdatedNumberScheduled: 2,
		NumberAvailable: 2, ObservedGeneration: 1,
	}, w.sets["agent"].Status)
	require.Equal(t, "SuccessfulCreate", w.events[0].Reason)
	require.Empty(t, w.pass(time.Hour), "there is nothing left to do")
}

// D3: a node that is new, gone, or tainted, and a rollout.
func TestASetFollowsItsNodesAndItsTemplate(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"ant", "bee", "cow", "dog"} {
		w.addNode(name)
	}
	w.addSet("agent", maxUnavailable(1))
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	w.addNode("eel")
	w.removeNode("ant")
	w.addNode("bee", corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	w.pass(time.Minute)
	require.NotContains(t, w.podsOn("agent"), "bee")
	require.Contains(t, w.podsOn("agent"), "eel")

	w.changeSet("agent", setImage("agent:2"))
	log := w.pass(10 * time.Minute)
	require.Equal(t, "agent: revise, create true, update 0, relabel 0, delete 0", log[0])
	require.Equal(t, int32(3), w.sets["agent"].Status.UpdatedNumberScheduled)
	require.Equal(t, int64(2), w.sets["agent"].Status.ObservedGeneration)
	require.Len(t, w.revisions, 2)
}

// The first duty of package rollout's callers: after a claim that has failed
// nothing is started, because the orphan still runs.
func TestNothingStartsBeforeOrphansAreClaimed(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	set := w.addSet("agent")
	orphan := w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "orphan", Labels: set.Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{NodeName: "ant"}})
	refused := 0
	w.fails = func(task any) bool {
		_, claims := task.(controller.Claim)
		refused++
		return claims && refused <= 3
	}
	w.MarkSynced(w.now)
	log := w.pass(time.Minute)
	require.Equal(t, slices.Repeat([]string{"agent: claim 0 revisions, 1 pods: fails"}, 3), log[:3])
	require.Equal(t, "agent: claim 0 revisions, 1 pods", log[3])
	// Its hash is not the current one, so it is replaced after it was adopted.
	require.Contains(t, log, "agent: delete on ant, OutdatedUnavailable")
	require.NotContains(t, w.pods, orphan.Name)
	require.Equal(t, []string{"ant"}, w.podsOn("agent"))

	// A pod that is taken out of the selector is released, and replaced.
	taken := ""
	for name := range w.pods {
		taken = name
	}
	w.changePod(taken, func(pod *corev1.Pod) { pod.Labels["app"] = "under-observation" })
	log = w.pass(time.Minute)
	require.Equal(t, "agent: claim 0 revisions, 1 pods", log[0])
	require.Contains(t, log, "agent: create on ant")
	require.Empty(t, w.pods[taken].OwnerReferences)
}

// While a claim is under way, the watch shows that another set has adopted the
// pod. That the claim found nothing to do does not take the pod from the other.
// A read of the set serves the claims of ten seconds, unless one fails.
func TestClaimsShareAReadOfTheSet(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent")
	orphan := func(i int) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("orphan-%02d", i)}}
		pod.Labels = map[string]string{"app": "agent"}
		w.putPod(pod)
	}
	var read []bool
	w.fails = func(task any) bool {
		if claim, is := task.(controller.Claim); is {
			read = append(read, claim.Read)
			return len(read) == 5
		}
		return false
	}
	for i := range 25 {
		orphan(i)
	}
	w.MarkSynced(w.now)
	w.run()
	require.Equal(t, []bool{false, true, true}, read, "9, 10 and 6 orphans")
	w.pass(9 * time.Second)
	orphan(25)
	w.run()
	w.pass(time.Second)
	for i := range 12 {
		orphan(26 + i)
	}
	w.pass(3 * time.Second)
	require.Equal(t, []bool{false, true, true, true, false, false, true}, read,
		"the fourth comes in time, the fifth does not and fails")
}

func TestAClaimForgetsOnlyWhatItKnew(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	set := w.addSet("agent")
	other := w.addSet("twin", func(twin *appsv1.DaemonSet) {
		twin.Spec.Selector, twin.Spec.Template.Labels = set.Spec.Selector, set.Spec.Template.Labels
	})
	w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan",
		Labels: set.Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{NodeName: "ant"}})
	w.MarkSynced(w.now)
	task, ok := w.Start(w.now)
	require.True(t, ok)
	require.IsType(t, controller.Claim{}, task.Task())
	require.Equal(t, set.UID, ownerOf(task).Object.GetUID())
	w.changePod("orphan", func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(other, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	})
	task.Perform(t.Context())
	task.Finish(w.now)
	w.run()
	require.NotContains(t, w.podsOn("twin")[1:], "ant", "a second pod")
}

// A claim ends when another owner is faster, or the orphan is gone.
func TestAClaimThatIsMootEnds(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"another owner": func(w *world) {
			w.changePod("orphan", func(pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "DaemonSet", Name: "other", UID: "other", Controller: ptr.To(true)}}
			})
		},
		"gone":      func(w *world) { w.removePod("orphan") },
		"no labels": func(w *world) { w.changePod("orphan", func(pod *corev1.Pod) { pod.Labels = nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addNode("ant")
			set := w.addSet("agent")
			w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan",
				Labels: set.Spec.Selector.MatchLabels}})
			w.fails = func(task any) bool { _, claims := task.(controller.Claim); return claims }
			w.MarkSynced(w.now)
			require.Equal(t, []string{"agent: claim 0 revisions, 1 pods: fails"}, w.run())
			end(w)
			require.Equal(t, "agent: revise, create true, update 0, relabel 0, delete 0", w.run()[0])
		})
	}
	t.Run("the API server says gone, the watch is behind", func(t *testing.T) {
		w := newWorld(t)
		w.addNode("ant")
		set := w.addSet("agent")
		w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan",
			Labels: set.Spec.Selector.MatchLabels}})
		w.MarkSynced(w.now)
		w.behind = true
		w.removePod("orphan")
		log := w.run()
		require.Equal(t, "agent: claim 0 revisions, 1 pods", log[0])
		require.Equal(t, "agent: revise, create true, update 0, relabel 0, delete 0", log[1])
	})
}

// Sets that no controller should touch, and what users see of it.
func TestSetsThatAreLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*appsv1.DaemonSet)
		phase  string
		events int
	}{
		"deleted": {func(set *appsv1.DaemonSet) { set.DeletionTimestamp = ptr.To(metav1.NewTime(start)) }, "terminating", 0},
		"selects all": {func(set *appsv1.DaemonSet) { set.Spec.Selector = &metav1.LabelSelector{} },
			"selectingAll", 1},
		"no selector": {func(set *appsv1.DaemonSet) { set.Spec.Selector = nil }, "invalid", 1},
		"labels that it does not select": {func(set *appsv1.DaemonSet) { set.Spec.Template.Labels = nil },
			"invalid", 1},
		"an affinity without a valid term": {func(set *appsv1.DaemonSet) {
			set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "size", Operator: corev1.NodeSelectorOpGt, Values: []string{"large"}}}}}}}}
		}, "invalid", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addNode("ant")
			w.addSet("agent", test.change)
			w.MarkSynced(w.now)
			for _, done := range w.pass(time.Hour) {
				require.Equal(t, "agent: revise, create true, update 0, relabel 0, delete 0", done)
			}
			require.Empty(t, w.pods)
			require.Len(t, w.events, test.events)
			if test.phase == "invalid" {
				require.Equal(t, controller.ReasonInvalid, w.events[0].Reason)
			}
			for state := range w.Sets() {
				require.Equal(t, test.phase, state.Phase)
				require.Equal(t, test.phase == "terminating", state.Problem == nil)
			}
			if test.phase == "terminating" {
				return
			}
			corrected := newWorld(t).addSet("agent")
			w.changeSet("agent", func(set *appsv1.DaemonSet) { set.Spec = *corrected.Spec.DeepCopy() })
			w.pass(time.Hour)
			require.Equal(t, []string{"ant"}, w.podsOn("agent"))
			require.Equal(t, int64(2), w.sets["agent"].Status.ObservedGeneration)
		})
	}
}

// A set that is deleted while it is managed keeps its pods. What was under way
// ends, and another set of its name is another one.
func TestADeletedSetIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addNode("bee")
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	w.removePod(slices.Sorted(maps.Keys(w.pods))[0])
	task, ok := w.Start(w.now)
	require.True(t, ok)
	w.changeSet("agent", func(set *appsv1.DaemonSet) { set.DeletionTimestamp = ptr.To(metav1.NewTime(w.now)) })
	w.finishRefused(task)
	w.addNode("cow")
	require.Empty(t, w.pass(time.Hour))
	w.removeSet("agent")
	require.Empty(t, w.pass(time.Hour))
	require.Zero(t, w.UnderWay())
	require.Zero(t, w.Waiting())
	require.Len(t, w.pods, 1)

	w.addSet("agent")
	w.pass(time.Minute)
	require.Len(t, w.podsOn("agent"), 3, "the old pod is another set's")
}

// Each kind of task can be under way when its set goes.
func TestTasksOfASetThatIsGoneEnd(t *testing.T) {
	kinds := map[string]bool{}
	for after := range 5 {
		w := newWorld(t)
		w.addNode("ant")
		set := w.addSet("agent")
		w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan",
			Labels: set.Spec.Selector.MatchLabels}})
		w.MarkSynced(w.now)
		for range after {
			if task, ok := w.Start(w.now); ok {
				w.finish(task)
			}
		}
		task, ok := w.Start(w.now)
		if !ok {
			continue
		}
		what := w.describe(task)
		kinds[what] = true
		w.removeSet("agent")
		w.finish(task)
		w.log = nil
		require.Empty(t, w.pass(time.Hour), what)
		require.Zero(t, w.UnderWay())
		require.Zero(t, w.Waiting())
	}
	require.GreaterOrEqual(t, len(kinds), 3, "%v", kinds)
}

// A set that was corrected waits for no correction, though its revision cannot be
// created yet.
func TestACorrectedSetIsNotStopped(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	set := w.addSet("agent", func(set *appsv1.DaemonSet) { set.Spec.Template.Labels = nil })
	w.fails = func(task any) bool { _, revises := task.(controller.Revise); return revises }
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	require.Equal(t, []bool{true}, w.stopped())
	labels := set.Spec.Selector.MatchLabels
	w.changeSet("agent", func(set *appsv1.DaemonSet) { set.Spec.Template.Labels = labels })
	w.pass(time.Minute)
	require.Empty(t, w.pods)
	require.Equal(t, []bool{false}, w.stopped())
}

// A template that was corrected does not wait for the back-off of the one whose
// revision the API server has refused.
func TestACorrectedTemplateIsRevisedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent")
	w.fails = func(task any) bool { _, revises := task.(controller.Revise); return revises }
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	w.fails = nil
	require.NotContains(t, w.run(), "agent: create on ant", "it backs off")
	w.changeSet("agent", setImage("agent:2"))
	w.run()
	require.Len(t, w.pods, 1)
}

// A status that completes a rollout does not wait, because clients wait for it.
// A pod that is ready every now and then costs two statuses in each interval.
func TestStatusThatCompletesIsWrittenAtOnce(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"ant", "bee"} {
		w.addNode(name)
	}
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	set := w.sets["agent"]
	flapping := slices.Sorted(maps.Keys(w.pods))[0]
	statuses := 0
	const step, steps = 50 * time.Millisecond, 200
	for i := range steps {
		ready := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue}[i%2]
		w.changePod(flapping, func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = ready })
		log := w.pass(step)
		statuses += len(log)
		if slices.Contains(log, "agent: status") && ready == corev1.ConditionTrue {
			require.Equal(t, int32(2), w.sets["agent"].Status.NumberAvailable, "the newest")
		}
	}
	require.LessOrEqual(t, statuses, 2*steps*int(step)/int(time.Second)+2)
	require.Greater(t, statuses, 3*steps*int(step)/int(time.Second)/2)
	require.Equal(t, set.Generation, w.sets["agent"].Status.ObservedGeneration)
}

// Counts that go on changing are written ever more seldom: after one second, two,
// four and so on up to half a minute. What lasts is shown within half a minute,
// and the wait begins again after a rest, and with another spec.
func TestStatusOfALongChangeIsWrittenSeldom(t *testing.T) {
	const nodes = 400
	w := newWorld(t)
	for i := range nodes {
		w.addNode(nodeName(i))
	}
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	var writes []time.Time
	w.fails = func(task any) bool {
		if _, status := task.(controller.WriteStatus); status {
			writes = append(writes, w.now)
		}
		return false
	}
	left := slices.Sorted(maps.Keys(w.pods))
	// fall makes a pod not ready each second, and returns when statuses followed.
	fall := func(pods int) (seconds []int) {
		begun := w.now
		writes = nil
		for range pods {
			w.changePod(left[0], func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
			left = left[1:]
			w.pass(time.Second)
		}
		for _, at := range writes {
			seconds = append(seconds, int(at.Sub(begun).Seconds()))
		}
		return seconds
	}
	require.Equal(t, []int{0, 1, 3, 7, 15, 31, 61, 91}, fall(100))
	w.pass(30 * time.Second)
	require.Equal(t, int32(nodes-100), w.sets["agent"].Status.NumberAvailable)
	w.pass(30 * time.Second)
	require.Equal(t, []int{0, 1, 3, 7}, fall(10), "after a rest")
	w.changeSet("agent", func(set *appsv1.DaemonSet) { set.Spec.MinReadySeconds = 1 })
	require.Equal(t, []int{0, 1, 3, 7}, fall(10), "after another spec")
}

// Many sets that change together share one status a second. The end of each change
// that was shown is shown at once.
func TestStatusesOfManyChangesShareABudget(t *testing.T) {
	const sets, seconds = 50, 20
	w := newWorld(t)
	for _, name := range []string{"ant", "bee", "cow"} {
		w.addNode(name)
	}
	for i := range sets {
		w.addSet(fmt.Sprintf("agent-%02d", i))
	}
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	pods, statuses := slices.Sorted(maps.Keys(w.pods)), 0
	second := func(change ...corev1.ConditionStatus) {
		for _, ready := range change {
			for _, pod := range pods {
				w.changePod(pod, func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = ready })
			}
		}
		for _, done := range w.pass(time.Second) {
			if strings.HasSuffix(done, ": status") {
				statuses++
			}
		}
	}
	second(corev1.ConditionFalse)
	for range seconds - 1 {
		second()
	}
	require.InDelta(t, 5+seconds, statuses, 1)
	shown := statuses
	second(corev1.ConditionTrue)
	require.Equal(t, 2*shown, statuses, "those whose change was shown")
}

// Changes that are over at once, such as of nodes that come and go, are shown at
// once as well. After a few of them there is a status a second.
func TestStatusesThatLastAreWrittenAtOnce(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	statuses := func(changes int) (written int) {
		for i := range changes {
			if i%2 == 0 {
				w.addNode("ant", corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoSchedule})
			} else {
				w.addNode("ant")
			}
			for _, done := range w.pass(100 * time.Millisecond) {
				if done == "agent: status" {
					written++
				}
			}
		}
		return written
	}
	require.Equal(t, 4, statuses(4))
	w.pass(time.Minute)
	// Every other one says that no pod is left where none should be.
	require.InDelta(t, 5+20, statuses(200), 2)
}

// The end of the last pod where none should be is written at once.
func TestStatusThatNoPodIsMisscheduledIsWrittenAtOnce(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"ant", "bee"} {
		w.addNode(name)
	}
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	w.behind = true
	w.addNode("ant", corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoExecute})
	w.watch[0]()
	w.watch = nil
	require.Equal(t, []string{"agent: status", "agent: delete on ant, Misscheduled"}, w.run())
	require.Equal(t, int32(1), w.sets["agent"].Status.NumberMisscheduled)
	w.deliver()
	require.Equal(t, []string{"agent: status"}, w.run(), "without a wait")
	require.Zero(t, w.sets["agent"].Status.NumberMisscheduled)
}

// A status is written soon after the first change, the newest one, and also while
// other tasks fail. The generation rises only when it was processed.
func TestStatusIsWrittenAfterErrors(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"ant", "bee", "cow"} {
		w.addNode(name)
	}
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	w.fails = func(task any) bool { _, status := task.(controller.WriteStatus); return !status }
	w.changeSet("agent", setImage("agent:2"))
	for name := range w.pods {
		w.changePod(name, func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
		w.run()
	}
	require.Equal(t, int32(2), w.sets["agent"].Status.NumberReady, "the first change at once")
	w.pass(time.Second)
	require.Zero(t, w.sets["agent"].Status.NumberReady)
	require.Equal(t, int64(1), w.sets["agent"].Status.ObservedGeneration, "its revision could not be made")
	w.fails = nil
	w.pass(5 * time.Minute)
	require.Equal(t, int64(2), w.sets["agent"].Status.ObservedGeneration)
	require.Equal(t, int32(3), w.sets["agent"].Status.NumberAvailable)
}

// A status is of the generation that it names. Counts of a former spec are not
// written next to a generation that another controller has observed.
func TestStatusIsOfTheGenerationThatItNames(t *testing.T) {
	for name, test := range map[string]struct {
		observed int64
		written  bool
	}{
		"the former one":            {1, true},
		"the new one, of another":   {2, false},
		"one that there is not yet": {100, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addNode("ant")
			w.addSet("agent", func(set *appsv1.DaemonSet) {
				set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
			})
			w.MarkSynced(w.now)
			w.pass(time.Minute)
			w.fails = func(task any) bool { _, revises := task.(controller.Revise); return revises }
			w.changeSet("agent", func(set *appsv1.DaemonSet) {
				setImage("agent:2")(set)
				set.Status.ObservedGeneration = test.observed
			})
			pod := slices.Collect(maps.Keys(w.pods))[0]
			w.changePod(pod, func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse })
			w.pass(time.Minute)
			require.Equal(t, test.written, w.sets["agent"].Status.NumberReady == 0)
			require.Equal(t, int32(1), w.sets["agent"].Status.UpdatedNumberScheduled, "of the former spec")
			require.Equal(t, test.observed, w.sets["agent"].Status.ObservedGeneration)
			w.fails = nil
			w.pass(10 * time.Minute)
			require.Zero(t, w.sets["agent"].Status.NumberReady)
			require.Zero(t, w.sets["agent"].Status.UpdatedNumberScheduled)
			require.Equal(t, int64(2), w.sets["agent"].Status.ObservedGeneration)
		})
	}
}

func TestAStatusThatFailsIsRetried(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent")
	failures := 0
	w.fails = func(task any) bool {
		_, status := task.(controller.WriteStatus)
		if status {
			failures++
		}
		return status && failures <= 3
	}
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	require.Equal(t, int64(1), w.sets["agent"].Status.ObservedGeneration)
}

// MinReadySeconds: no event says that a pod has become available.
func TestAvailabilityByTimeReachesTheStatus(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent", func(set *appsv1.DaemonSet) { set.Spec.MinReadySeconds = 90 })
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	require.Equal(t, int32(1), w.sets["agent"].Status.NumberReady)
	require.Zero(t, w.sets["agent"].Status.NumberAvailable)
	w.pass(time.Minute)
	require.Equal(t, int32(1), w.sets["agent"].Status.NumberAvailable)
}

// The history keeps the limit, and what pods carry.
func TestOldRevisionsAreDeleted(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent", maxUnavailable(1), func(set *appsv1.DaemonSet) { set.Spec.RevisionHistoryLimit = ptr.To(int32(1)) })
	w.MarkSynced(w.now)
	for _, image := range []string{"agent:2", "agent:3", "agent:4"} {
		w.pass(time.Minute)
		w.changeSet("agent", setImage(image))
	}
	w.pass(time.Minute)
	require.Len(t, w.revisions, 2)

	// A rollback gives the old revision the highest number.
	w.changeSet("agent", setImage("agent:3"))
	log := w.pass(time.Minute)
	require.Equal(t, "agent: revise, create false, update 1, relabel 0, delete 0", log[0])

	// A revision that a user deletes is made again.
	for name, revision := range w.revisions {
		delete(w.revisions, name)
		w.ForgetRevision(w.now, revision)
	}
	w.pass(time.Minute)
	require.Len(t, w.revisions, 1)
	require.Equal(t, []string{"ant"}, w.podsOn("agent"))
}

// After a restore of the store a revision is as it was before a rollback: older,
// with its former number. The newest one is that of the template again, and no
// pod restarts.
func TestARevisionOfARestoredStoreIsTheNewestAgain(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent", maxUnavailable(1))
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	first := slices.Collect(maps.Values(w.revisions))[0].DeepCopy()
	w.changeSet("agent", setImage("agent:2"))
	w.pass(time.Minute)
	w.changeSet("agent", setImage("agent:1"))
	w.pass(time.Minute)
	require.Equal(t, int64(3), w.revisions[first.Name].Revision)
	pods := w.podNames()

	w.revisions[first.Name] = first
	w.ObserveRevision(w.now, first)
	w.pass(time.Minute)
	require.Equal(t, int64(3), w.revisions[first.Name].Revision)
	require.Len(t, w.revisions, 2)
	require.Equal(t, pods, w.podNames())
}

// C7: a halted controller deletes no pod, and does all else. What was held goes
// on.
func TestC7HaltedNoPodLeaves(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addNode("bee")
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	w.Halt(w.now)
	w.changeSet("agent", setImage("agent:2"))
	w.addNode("bee", corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	w.addNode("cow")
	log := w.pass(10 * time.Minute)
	require.Contains(t, log, "agent: create on cow")
	require.Equal(t, []string{"ant", "bee", "cow"}, w.podsOn("agent"))
	for wait := range w.Waits(w.sets["agent"].UID) {
		require.Equal(t, rollout.WaitHalted, wait.Reason)
	}
	next, more := w.Next(w.now)
	require.False(t, more, "it does not try until %v", next)
	w.Resume(w.now)
	log = w.run()
	require.Contains(t, log, "agent: delete on bee, Misscheduled", "at once")
	require.Contains(t, log, "agent: delete on ant, Outdated", "at once")
	w.pass(2 * time.Minute)
	require.Equal(t, []string{"ant", "cow"}, w.podsOn("agent"))
	require.Equal(t, int32(2), w.sets["agent"].Status.UpdatedNumberScheduled)
}

// C7: a set that is new during a halt is halted, too, and so is a controller
// that was halted before it has seen anything.
func TestC7HaltHoldsSetsThatComeLater(t *testing.T) {
	w := newWorld(t)
	w.Halt(w.now)
	w.addNode("ant", corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	w.addNode("bee")
	set := w.addSet("agent")
	w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan",
		Labels: set.Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{NodeName: "ant"}})
	w.MarkSynced(w.now)
	w.pass(time.Hour)
	require.Equal(t, []string{"ant", "bee"}, w.podsOn("agent"))
	w.Resume(w.now)
	require.Equal(t, []string{"agent: delete on ant, Misscheduled", "agent: status"}, w.run())
	require.Equal(t, []string{"bee"}, w.podsOn("agent"))
}

// Several sets take turns: one that has much to do does not delay the others,
// and never has more than a burst under way.
func TestSetsTakeTurns(t *testing.T) {
	const burst = 20
	w := newWorld(t, func(c *controller.Config) { c.Planner.Burst, c.Concurrency = burst, 3 })
	for i := range 400 {
		w.addNode(nodeName(i))
	}
	for _, name := range []string{"big", "bigger", "small"} {
		w.addSet(name)
	}
	w.MarkSynced(w.now)
	underWay := map[string][]timedqueue.Job{}
	most := 0
	for range 10_000 {
		task, ok := w.Start(w.now)
		if !ok {
			if next, more := w.Next(w.now); more && !next.After(w.now) {
				continue
			}
			break
		}
		name := ownerOf(task).Object.GetName()
		if _, changes := task.Task().(controller.ChangePod); changes && name != "small" {
			underWay[name] = append(underWay[name], task) // a webhook that hangs
			most = max(most, len(underWay[name]))
			continue
		}
		w.finish(task)
	}
	require.Len(t, w.podsOn("small"), 400, "the others hold up nothing")
	require.LessOrEqual(t, most, burst)
	require.NotEmpty(t, underWay["big"])
	require.Equal(t, len(underWay["big"])+len(underWay["bigger"]), w.UnderWay())
	for _, name := range []string{"big", "bigger"} {
		for _, task := range underWay[name] {
			w.finish(task)
		}
	}
	w.pass(time.Minute)
	require.Len(t, w.podsOn("big"), 400)
	require.Len(t, w.podsOn("bigger"), 400)
}

// C1: all requests have one budget, and a status comes through while pods are
// created.
func TestC1StatusesHaveAPartOfTheRequests(t *testing.T) {
	w := newWorld(t, func(c *controller.Config) { c.Requests.PerSecond, c.Requests.Burst = 10, 10 })
	for i := range 400 {
		w.addNode(nodeName(i))
	}
	w.addSet("big")
	w.addSet("small", func(set *appsv1.DaemonSet) {
		set.Spec.Template.Spec.NodeSelector = map[string]string{"no": "node"}
	})
	w.MarkSynced(w.now)
	log := w.pass(10 * time.Second)
	requests := len(log)
	require.Equal(t, int64(1), w.sets["small"].Status.ObservedGeneration)
	require.Equal(t, int64(1), w.sets["big"].Status.ObservedGeneration)
	statuses := 0
	for _, done := range log {
		if done == "big: status" {
			statuses++
		}
	}
	require.Equal(t, 4, statuses, "at once, and after one, two and four seconds")
	require.LessOrEqual(t, requests, 110, "the budget of ten seconds, and a burst")
	require.GreaterOrEqual(t, requests, 95, "what a task does not need goes to others")
}

// A revision that is an orphan is adopted like a pod, and one of another set's
// name costs a collision.
func TestRevisionsAreAdopted(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	for _, name := range slices.Sorted(maps.Keys(w.revisions)) {
		orphan := w.revisions[name].DeepCopy()
		orphan.OwnerReferences = nil
		w.putRevision(orphan)
	}
	require.Equal(t, []string{"agent: claim 1 revisions, 0 pods"}, w.pass(time.Minute))
	w.removeSet("agent")
	w.addSet("agent")
	w.behind = true
	w.run()
	for range 3 {
		w.now = w.now.Add(time.Minute)
		w.run() // before the watch shows the raised count
	}
	require.Len(t, w.revisions, 2)
	w.behind = false
	w.deliver()
	w.pass(time.Minute)
	require.Equal(t, ptr.To(int32(1)), w.sets["agent"].Status.CollisionCount)
	require.Equal(t, []string{"ant"}, w.podsOn("agent"))
}

// A pod that only the answer to its creation has shown holds its revision, also
// beyond the limit of the history.
func TestAPodThatTheWatchHasNotShownHoldsItsRevision(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	set := w.addSet("agent", maxUnavailable(1), func(set *appsv1.DaemonSet) {
		set.Spec.RevisionHistoryLimit = ptr.To(int32(0))
	})
	w.MarkSynced(w.now)
	w.behind = true
	w.run()
	require.Equal(t, []string{"ant"}, w.podsOn("agent"))
	changed := set.DeepCopy()
	changed.Generation++
	setImage("agent:2")(changed)
	w.stamp(changed)
	w.sets["agent"] = changed
	w.kubelet = false
	w.ObserveSet(w.now, controller.SetOf(changed))
	log := w.pass(10 * time.Second)
	require.Contains(t, log, "agent: revise, create true, update 0, relabel 0, delete 0")
	require.Len(t, w.revisions, 2, "a pod carries the first one, or did until now: %v", log)
}

// A revision whose pod is being created stays, though nothing shows the pod.
// When the creation is refused it is beyond the limit of the history.
func TestAPodThatIsBeingCreatedHoldsItsRevision(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	set := w.addSet("agent", maxUnavailable(1), func(set *appsv1.DaemonSet) {
		set.Spec.RevisionHistoryLimit = ptr.To(int32(0))
	})
	w.MarkSynced(w.now)
	var creation timedqueue.Job
	for begun := false; !begun; {
		task, ok := w.Start(w.now)
		require.True(t, ok)
		if change, ok := task.Task().(controller.ChangePod); ok && change.Task.Create != nil {
			creation, begun = task, true
			continue
		}
		w.finish(task)
	}
	changed := set.DeepCopy()
	changed.Generation++
	setImage("agent:2")(changed)
	w.stamp(changed)
	w.sets["agent"] = changed
	w.ObserveSet(w.now, controller.SetOf(changed))
	w.pass(10 * time.Second)
	require.Len(t, w.revisions, 2, "the creation may have been done already")

	w.finishRefused(creation)
	w.pass(time.Minute)
	require.Len(t, w.revisions, 1)
	require.Equal(t, []string{"ant"}, w.podsOn("agent"))
}

// A set loses its current revision to another owner. No pod is created or
// replaced for the lost one: the next pass would replace it again.
func TestALostRevisionIsNotRolledOut(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent", maxUnavailable(1))
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	for _, revision := range w.revisions {
		stolen := revision.DeepCopy()
		stolen.OwnerReferences[0].Kind, stolen.OwnerReferences[0].UID = "Thief", "thief"
		w.putRevision(stolen)
	}
	w.addNode("bee")
	log := w.run()
	require.Contains(t, log, "agent: revise, create true, update 0, relabel 0, delete 0")
	require.NotContains(t, log, "agent: create on bee", "the name of its revision is taken")
	w.pass(time.Hour)
	hashes := map[string]bool{}
	for _, pod := range w.pods {
		hashes[pod.Labels[appsv1.ControllerRevisionHashLabelKey]] = true
	}
	require.Len(t, hashes, 1)
	require.Len(t, w.revisions, 2)
}

// Own writes count before the watch shows them, and an older report that comes
// later changes nothing: a revision is created once, and renumbered once.
func TestOwnWritesOfRevisionsCountAtOnce(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.behind = true
	w.run()
	w.changeSet("agent", setImage("agent:2"))
	w.ObserveSet(w.now, controller.SetOf(w.sets["agent"]))
	w.run()
	w.changeSet("agent", setImage("agent:1"))
	w.ObserveSet(w.now, controller.SetOf(w.sets["agent"]))
	log := w.run()
	require.Equal(t, "agent: revise, create false, update 1, relabel 0, delete 0", log[0])
	w.now = w.now.Add(2 * time.Second)
	for _, done := range w.run() {
		require.NotContains(t, done, "revise")
	}
}

// An answer that comes after a newer report changes nothing.
func TestAnswersThatAreLate(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	set := w.addSet("agent")
	w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan",
		Labels: set.Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{NodeName: "ant"}})
	w.MarkSynced(w.now)
	task, ok := w.Start(w.now)
	require.True(t, ok)
	task.Perform(t.Context())
	w.changePod("orphan", func(pod *corev1.Pod) { pod.Labels, pod.OwnerReferences = nil, nil })
	task.Finish(w.now)
	for _, done := range w.pass(time.Minute)[1:] {
		require.NotContains(t, done, "claim")
		require.NotContains(t, done, "delete on", "it is not the set's")
	}
}

func nodeName(i int) string { return fmt.Sprintf("node-%03d", i) }

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	_, err := controller.NewController(controller.Config{
		Concurrency: -1, StatusInterval: -1, Requests: controller.RequestBudget{PerSecond: -1, Burst: -1},
		Planner: rollout.Config{Burst: -1, ExpectationTimeout: -1},
	}, start)
	for _, field := range []string{"Concurrency", "StatusInterval", "PerSecond", "Requests.Burst", "Planner.Burst",
		"ExpectationTimeout"} {
		require.ErrorContains(t, err, field)
	}
	require.ErrorIs(t, err, controller.ErrInvalidConfig)
	_, err = controller.NewController(controller.Config{}, time.Time{})
	require.ErrorIs(t, err, controller.ErrInvalidConfig)
}

// D5: a rollout that stops says so, once, and again when it stops again. The pods
// are managed meanwhile.
func TestARolloutThatStopsSaysSoOnce(t *testing.T) {
	w := newWorld(t)
	w.addNode("ant")
	w.addSet("agent")
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	w.events = nil
	surge := func(set *appsv1.DaemonSet) {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: ptr.To(intstr.FromInt32(1))}
		set.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	}
	noTerm := func(set *appsv1.DaemonSet) {
		set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "size", Operator: corev1.NodeSelectorOpGt, Values: []string{"large"}}}}}}}}
	}
	for _, c := range []struct {
		change func(*appsv1.DaemonSet)
		says   string
	}{
		{surge, "Stopped until the spec is corrected: invalid rollout spec: container agent asks for port 80: maxSurge needs"},
		{noTerm, "invalid rollout spec: Template: nodeSelectorTerms[0] matches no node"},
	} {
		for range 2 {
			before := w.sets["agent"].Spec.DeepCopy()
			w.changeSet("agent", c.change)
			w.pass(time.Hour)
			w.changeSet("agent", func(set *appsv1.DaemonSet) { set.Annotations = map[string]string{"more": "x"} })
			w.pass(time.Hour)
			require.Len(t, w.events, 1)
			require.Equal(t, corev1.EventTypeWarning, w.events[0].Type)
			require.Equal(t, controller.ReasonRolloutStopped, w.events[0].Reason)
			require.Contains(t, w.events[0].Message, c.says)
			require.NotContains(t, w.events[0].Message, "\n")
			require.Equal(t, []string{"ant"}, w.podsOn("agent"))
			require.Equal(t, []bool{true}, w.stopped())
			w.changeSet("agent", func(set *appsv1.DaemonSet) { set.Spec = *before })
			w.pass(time.Hour)
			require.Equal(t, []bool{false}, w.stopped())
			w.events = nil
		}
	}
}

// stopped says of each set whether it waits for a correction.
func (w *world) stopped() []bool {
	var all []bool
	for state := range w.Sets() {
		all = append(all, state.Stopped)
	}
	return all
}
