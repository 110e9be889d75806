package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// start hands out a task, which there must be.
func (s *set) start() rollout.Task {
	s.Helper()
	task, ok := s.Start(s.now)
	require.True(s, ok)
	return task
}

// finish ends a task.
func (s *set) finish(task rollout.Task, outcome rollout.Outcome, pod *corev1.Pod, err error) *set {
	s.Finish(s.now, task, rollout.Result{Outcome: outcome, Pod: pod, Err: err})
	return s
}

// updated returns a pod as the caller has updated it in place for a task.
func (s *set) updated(task rollout.Task) *corev1.Pod {
	pod := s.pods[task.Delete.Pod].DeepCopy()
	pod.Labels["controller-revision-hash"] = task.Spec.Revision
	s.made++
	pod.ResourceVersion = fmt.Sprint(1000 + s.made)
	s.pods[pod.Name] = pod
	return pod
}

var errHook = errors.New("the hook before the deletion has not ended")

// D3: what is not done now is no failure. Other nodes go on at once, the node is
// tried again, ever more seldom, and does not count meanwhile.
func TestD3WhatIsNotDoneNowDelaysNoOther(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").template("new")
	began := s.now
	task := s.start()
	require.Equal(t, "a-1", task.Delete.Pod)
	s.finish(task, rollout.OutcomeNotNow, nil, errHook)
	s.wantWait("a", rollout.WaitRefused)
	require.Equal(t, began.Add(250*time.Millisecond), s.WaitOf("a").Until)
	s.want("delete b-1: Outdated").want("create on b: Missing").change("b-new-2", available)
	s.want("delete c-1: Outdated").want("create on c: Missing").change("c-new-2", available)
	for _, wait := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second} {
		s.after(wait - 1).want("").after(1)
		task = s.start()
		require.Equal(t, rollout.StepOutdated, task.Delete.Reason)
		s.finish(task, rollout.OutcomeNotNow, nil, nil)
	}
	s.after(2 * time.Second).want("delete a-1: Outdated")
}

// D5: many that are not done now cost no hold: as many are tried at a time as
// before.
func TestD5WhatIsNotDoneNowClosesNoWindow(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").
		rollout(func(r *rollout.Strategy) { r.MaxUnavailable.IntVal = 3 }).template("new")
	for range 3 {
		s.finish(s.start(), rollout.OutcomeNotNow, nil, nil)
	}
	s.after(250 * time.Millisecond)
	for range 3 {
		s.start() // without an end of the former one
	}
	s = newSet(t).nodes("a", "b")
	s.finish(s.start(), rollout.OutcomeNotNow, nil, nil)
	require.Equal(t, "b", s.start().Create.Node)
}

// D3: a call that was not answered may have been done. Another that is not done
// now says nothing of it.
func TestD3NotNowSaysNothingOfTheCallBefore(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	s.finish(s.start(), rollout.OutcomeFailed, nil, errRefused)
	s.after(time.Second)
	task := s.start()
	require.Equal(t, "a-1", task.Delete.Pod)
	s.finish(task, rollout.OutcomeNotNow, nil, nil)
	s.want("").after(10 * time.Second).want("delete a-1: Outdated")
}

// D3: a pod that the caller updates in place is not replaced. Its node counts as
// one without an available pod from the task on, until the pod has restarted.
func TestD3PodIsUpdatedInPlace(t *testing.T) {
	restarted := func(s *set) { s.change("a-1", unready).change("a-1", readyFrom(s.now)) }
	for name, restart := range map[string]func(s *set, update func()){
		"restarts after the answer":  func(s *set, update func()) { update(); s.want(""); restarted(s) },
		"restarts before the answer": func(s *set, update func()) { restarted(s); s.want(""); update() },
		"only its end is shown": func(s *set, update func()) {
			update()
			s.want("").change("a-1", readyFrom(s.now))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t).nodes("a", "b").running("a", "b").template("new")
			task := s.start()
			require.Equal(t, "a-1", task.Delete.Pod)
			s.want("")
			pod := s.updated(task)
			restart(s, func() {
				s.finish(task, rollout.OutcomeUpdated, pod, nil)
			})
			require.Equal(t, 1, s.Status().Updated)
			require.Equal(t, 2, s.Status().Available)
			s.want("delete b-1: Outdated")
		})
	}
}

// D3: the update itself, which a watch shows, is no restart.
func TestD3UpdateInPlaceIsNoRestart(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	task := s.start()
	pod := s.updated(task)
	s.finish(task, rollout.OutcomeUpdated, pod, nil)
	s.wantWait("a", rollout.WaitNotAvailable)
	s.ObservePod(s.now, pod)
	s.change("a-1") // something else of it
	s.want("").after(time.Hour).want("")
	require.Equal(t, rollout.Status{
		Desired: 2, Current: 2, Ready: 1, Available: 1, Unavailable: 1, Updated: 1,
	}, s.Status())
	s.template("newer") // it may be updated again, and it is not available
	require.Equal(t, rollout.StepOutdatedUnavailable, s.start().Delete.Reason)
}

// D3: a pod that has yet to restart is not available before, also if another
// update of it is refused.
func TestD3RefusedUpdateMakesNoPodAvailable(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	task := s.start()
	s.finish(task, rollout.OutcomeUpdated, s.updated(task), nil)
	s.template("newer")
	task = s.start()
	require.Equal(t, rollout.StepOutdatedUnavailable, task.Delete.Reason)
	s.finish(task, rollout.OutcomeRefused, nil, errRefused)
	require.Equal(t, 1, s.Status().Available)
	s.change("a-1", readyFrom(s.now))
	require.Equal(t, 2, s.Status().Available)
}

// D3: an update that is sent again may find that the pod was updated, and has
// restarted. No other restart would come.
func TestD3UpdateThatIsSentAgainWaitsForNoOtherRestart(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	task := s.start()
	pod := s.updated(task)
	s.finish(task, rollout.OutcomeFailed, nil, errRefused)
	s.after(time.Second)
	task = s.start()
	require.Equal(t, "a-1", task.Delete.Pod)
	readyFrom(s.now)(pod)
	s.finish(task, rollout.OutcomeUpdated, pod, nil)
	require.Equal(t, 2, s.Status().Available)
	s.want("delete b-1: Outdated")
}

// D3: the watch may show an update before the answer comes to the call that was
// sent again. The pod has yet to restart, and its node counts as one without an
// available pod.
func TestD3UpdateThatTheWatchShowsFirstIsNoRestart(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	task := s.start()
	s.finish(task, rollout.OutcomeFailed, nil, errRefused)
	s.after(time.Second)
	task = s.start()
	pod := s.updated(task)
	s.ObservePod(s.now, pod)
	require.Equal(t, 1, s.Status().Available)
	s.finish(task, rollout.OutcomeUpdated, pod, nil)
	require.Equal(t, 1, s.Status().Available)
	s.want("")
	s.change("a-1", readyFrom(s.now))
	s.want("delete b-1: Outdated")
}

// D3: a pod is not updated in place while its node may get another one, by the
// surge of before.
func TestD3PodIsNotUpdatedNextToAnotherOne(t *testing.T) {
	s := newSet(t).nodes("a").running("a").rollout(surge(1)).template("new")
	task := s.start()
	require.Equal(t, rollout.StepSurging, task.Create.Reason)
	s.rollout(func(r *rollout.Strategy) { *r = rollout.Strategy{} })
	s.want("").wantWait("a", rollout.WaitUnderWay)
	s.finish(task, rollout.OutcomeRefused, nil, errRefused)
	s.want("delete a-1: Outdated")
}

// D3: an update that is none is a failure of unknown effect, and tried again.
func TestD3UpdateThatIsNoneHasFailed(t *testing.T) {
	for name, change := range map[string]func(task *rollout.Task, pod *corev1.Pod) *corev1.Pod{
		"no pod":         func(*rollout.Task, *corev1.Pod) *corev1.Pod { return nil },
		"another pod":    func(_ *rollout.Task, pod *corev1.Pod) *corev1.Pod { pod.UID = "other"; return pod },
		"former labels":  func(_ *rollout.Task, pod *corev1.Pod) *corev1.Pod { pod.Labels = nil; return pod },
		"another reason": func(task *rollout.Task, pod *corev1.Pod) *corev1.Pod { task.Delete.Reason = "x"; return pod },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t).nodes("a", "b").running("a", "b").template("new")
			task := s.start()
			pod := change(&task, s.updated(task))
			s.finish(task, rollout.OutcomeUpdated, pod, nil)
			s.wantWait("a", rollout.WaitRefused)
			s.after(time.Second)
			require.Equal(t, "a-1", s.start().Delete.Pod)
		})
	}
}

// D5: a caller that lists its pods has the same plan as one that has events.
func TestD5ReplacedPodsAreThoseThatThereAre(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c", "d").running("a", "b", "c")
	list := func() []*corev1.Pod {
		var pods []*corev1.Pod
		for _, pod := range s.pods {
			pods = append(pods, pod)
		}
		return pods
	}
	s.ReplacePods(s.now, list())
	s.want("create on d: Missing")
	require.Equal(t, 4, s.Status().Current)

	delete(s.pods, "a-1")
	recreated := s.pods["b-1"].DeepCopy()
	recreated.UID, recreated.Spec.NodeName = "another", "c"
	s.pods["b-1"] = recreated
	s.ReplacePods(s.now, list())
	s.want("create on a: Missing", "create on b: Missing", "delete c-1: Duplicate")

	plain := newSet(t).nodes("a", "b", "c", "d")
	for _, pod := range s.pods {
		plain.ObservePod(s.now, pod)
	}
	require.Equal(t, plain.Status(), s.Status())
	require.Equal(t, slices.Collect(plain.Waits()), slices.Collect(s.Waits()))
}

// D4: a cache that is behind lacks a pod that was just created, and has one that
// is gone. Neither is believed.
func TestD4ReplacedPodsMayBeBehind(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a")
	behind := []*corev1.Pod{s.pods["a-1"]}
	task := s.start()
	made, err := rollout.NewPod(theSet, task.Spec, *task.Create)
	require.NoError(t, err)
	made.UID, made.Spec.NodeName = "made", "b"
	s.finish(task, rollout.OutcomeDone, made, nil)
	s.ReplacePods(s.now, behind)
	s.want("")
	require.Equal(t, 2, s.Status().Current)

	s.template("new")
	task = s.start()
	require.Equal(t, made.Name, task.Delete.Pod, "it is not available")
	s.finish(task, rollout.OutcomeGone, nil, nil)
	s.ReplacePods(s.now, append(behind, made))
	require.Equal(t, 1, s.Status().Current)
	s.ReplacePods(s.now, behind)
	require.Equal(t, 1, s.Status().Current)
}
