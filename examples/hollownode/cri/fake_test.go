package cri

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const domain = AnnotationDomain + "/"

func newPod(annotations map[string]string, names ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "pod", Annotations: annotations}}
	for _, name := range names {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "image"})
	}
	return pod
}

func newFake(t *testing.T) *Fake {
	f, err := NewFake(start)
	require.NoError(t, err)
	return f
}

// startSteps are those that start a pod.
func startSteps(names ...string) []Step {
	steps := []Step{{Kind: StepCreateSandbox}}
	for _, name := range names {
		steps = append(steps, Step{Kind: StepStart, Container: name, MayPull: true, Required: true})
	}
	return steps
}

// drain polls until nothing happens before the end, and returns the reports by
// the time at which they came.
func drain(f *Fake, from time.Time, period time.Duration) map[time.Duration]*Report {
	reports := map[time.Duration]*Report{}
	for now := from; !now.After(from.Add(period)); {
		if event, ok := f.Poll(now); ok {
			if event.Ended != nil {
				reports[now.Sub(start)] = event.Ended
			}
			continue
		}
		next, ok := f.Next(now)
		if !ok {
			break
		}
		now = next
	}
	return reports
}

func get(t *testing.T, f *Fake, now time.Time, name string) Container {
	pod, ok := f.Pod(now, "pod")
	require.True(t, ok)
	c, ok := pod.Latest(name)
	require.True(t, ok, "container %s", name)
	return *c
}

func TestWhatHappensHasTheTimeAtWhichItWasDue(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{
		domain + "sandbox-time": "1s", domain + "pull-time": "2s", domain + "start-time": "3s",
		domain + "run-time": "5s",
	}, "a")
	f.Begin(start, Plan{Pod: pod, Steps: startSteps("a")})
	c := get(t, f, start.Add(time.Hour), "a")
	assert.Equal(t, start.Add(6*time.Second), c.StartedAt)
	assert.Equal(t, start.Add(11*time.Second), c.FinishedAt)
	assert.Equal(t, StateExited, c.State)
	assert.Equal(t, "Completed", c.Reason)
}

func TestEachRunHasItsOwnTimeAndCode(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{
		domain + "run-time": "1s", "a." + domain + "run-time": "5s, 7s", domain + "exit-code": "1,0",
	}, "a", "b")
	f.Begin(start, Plan{Pod: pod, Steps: startSteps("a", "b")})
	drain(f, start, time.Minute)
	assert.Equal(t, start.Add(5*time.Second), get(t, f, start, "a").FinishedAt)
	assert.Equal(t, start.Add(time.Second), get(t, f, start, "b").FinishedAt)
	assert.EqualValues(t, 1, get(t, f, start, "a").ExitCode)
	for attempt := range uint32(2) {
		now := start.Add(time.Minute * time.Duration(attempt+1))
		f.Begin(now, Plan{Pod: pod, Steps: []Step{{Kind: StepStart, Container: "a", Attempt: attempt + 1}}})
		drain(f, now, time.Minute)
		assert.Equal(t, now.Add(7*time.Second), get(t, f, now, "a").FinishedAt)
		assert.EqualValues(t, 0, get(t, f, now, "a").ExitCode)
	}
}

func TestImagesFailAsOftenAsTheAnnotationSays(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{domain + "pull-failures": "1"}, "a", "b")
	begin := func(steps ...Step) StepResult {
		f.Begin(start, Plan{Pod: pod, Steps: steps})
		report := drain(f, start, 0)[0]
		require.NotNil(t, report)
		return report.Results[len(report.Results)-1]
	}
	a := Step{Kind: StepStart, Container: "a", MayPull: true}
	assert.Equal(t, ReasonImagePull, begin(Step{Kind: StepCreateSandbox}, a).Reason)
	a.MayPull = false
	assert.Equal(t, ReasonImagePullBackOff, begin(a).Reason)
	a.MayPull = true
	assert.True(t, begin(a).Done)
	// The node has the image now, and a pull is not needed.
	assert.True(t, begin(Step{Kind: StepStart, Container: "b"}).Done)
	pod.Spec.Containers[1].Image = "other"
	pod.Spec.Containers[1].ImagePullPolicy = corev1.PullNever
	assert.Equal(t, ReasonImageNeverPull, begin(Step{Kind: StepStart, Container: "b", MayPull: true}).Reason)
}

func TestStartsAndHooksAndSandboxesFail(t *testing.T) {
	for annotation, want := range map[string]string{
		"sandbox-failures": ReasonCreateSandbox, "start-failures": ReasonRun,
		"post-start-failures": ReasonPostStart, "pull-failures": ReasonImagePull,
	} {
		f := newFake(t)
		pod := newPod(map[string]string{domain + annotation: "all"}, "a", "b")
		pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}
		f.Begin(start, Plan{Pod: pod, Steps: startSteps("a", "b")})
		report := drain(f, start, 0)[0]
		require.NotNil(t, report, annotation)
		last := report.Results[len(report.Results)-1]
		assert.False(t, last.Done, annotation)
		assert.Equal(t, want, last.Reason)
		state, _ := f.Pod(start, "pod")
		_, found := state.Latest("b")
		assert.False(t, found, "a required step has failed, and the plan went on: %s", annotation)
		switch annotation {
		case "start-failures":
			assert.Equal(t, startCode, get(t, f, start, "a").ExitCode)
		case "post-start-failures":
			assert.Equal(t, killedCode, get(t, f, start, "a").ExitCode)
		}
	}
}

// begun returns a runtime whose pod has these containers running.
func begun(t *testing.T, annotations map[string]string, names ...string) (*Fake, *corev1.Pod) {
	f := newFake(t)
	pod := newPod(annotations, names...)
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}
	}
	f.Begin(start, Plan{Pod: pod, Steps: startSteps(names...)})
	drain(f, start, 0)
	return f, pod
}

func TestAStopTakesItsHookAndItsTimeAndNoLongerThanItsGrace(t *testing.T) {
	for name, test := range map[string]struct {
		hook, stop string
		grace      time.Duration
		want       time.Duration
		code       int32
	}{
		"in time":                          {"3s", "4s", 30 * time.Second, 7 * time.Second, 9},
		"killed":                           {"3s", "1h", 30 * time.Second, 30 * time.Second, killedCode},
		"never exits":                      {"3s", "forever", 30 * time.Second, 30 * time.Second, killedCode},
		"hook takes all, 2 s for the rest": {"1h", "forever", 30 * time.Second, 32 * time.Second, killedCode},
		"no grace, no hook, 2 s":           {"3s", "forever", 0, 2 * time.Second, killedCode},
	} {
		t.Run(name, func(t *testing.T) {
			f, pod := begun(t, map[string]string{
				domain + "pre-stop-time": test.hook, domain + "stop-time": test.stop, domain + "stop-code": "9",
			}, "a")
			f.Begin(start, Plan{Pod: pod, Steps: []Step{
				{Kind: StepStop, Stops: []Stop{{ID: get(t, f, start, "a").ID, Grace: test.grace}}},
			}})
			reports := drain(f, start, 2*time.Hour)
			require.Contains(t, reports, test.want)
			assert.True(t, reports[test.want].Results[0].Done)
			assert.Equal(t, test.code, get(t, f, start, "a").ExitCode)
		})
	}
}

func TestAGracePeriodOnlyShrinks(t *testing.T) {
	f, pod := begun(t, map[string]string{domain + "stop-time": "forever"}, "a")
	id := get(t, f, start, "a").ID
	stop := func(now time.Time, grace time.Duration) {
		f.Begin(now, Plan{Pod: pod, Steps: []Step{{Kind: StepStop, Stops: []Stop{{ID: id, Grace: grace}}}}})
	}
	stop(start, 30*time.Second)
	f.Cancel(start.Add(time.Second), "pod")
	event, ok := f.Poll(start.Add(time.Second))
	require.True(t, ok)
	assert.True(t, event.Ended.Canceled)
	assert.Empty(t, event.Ended.Results, "a canceled stop is not done")
	stop(start.Add(time.Second), 6*time.Second)
	f.Cancel(start.Add(2*time.Second), "pod")
	stop(start.Add(2*time.Second), time.Hour)
	drain(f, start.Add(2*time.Second), time.Hour)
	assert.Equal(t, start.Add(7*time.Second), get(t, f, start, "a").FinishedAt)
}

func TestContainersWaitForTheirTurn(t *testing.T) {
	f, pod := begun(t, map[string]string{
		"a." + domain + "stop-time": "3s", "b." + domain + "stop-time": "4s", "c." + domain + "stop-time": "1h",
	}, "a", "b", "c")
	a, b, c := get(t, f, start, "a").ID, get(t, f, start, "b").ID, get(t, f, start, "c").ID
	f.Begin(start, Plan{Pod: pod, Steps: []Step{{Kind: StepStop, Stops: []Stop{
		{ID: a, Grace: time.Minute, After: []string{b}},
		{ID: b, Grace: time.Minute},
		{ID: c, Grace: time.Minute, After: []string{a}},
	}}}})
	drain(f, start, time.Hour)
	assert.Equal(t, start.Add(4*time.Second), get(t, f, start, "b").FinishedAt)
	assert.Equal(t, start.Add(7*time.Second), get(t, f, start, "a").FinishedAt)
	assert.Equal(t, start.Add(time.Minute), get(t, f, start, "c").FinishedAt)
}

// A plan that is canceled ends at once, in each of its stages. The end of a
// kubelet does that to its calls.
func TestACanceledPlanEndsAtOnce(t *testing.T) {
	for annotation, reason := range map[string]string{
		AnnotationPostStartTime: ReasonPostStart, AnnotationPullTime: ReasonImagePull,
		AnnotationStartTime: ReasonCreate, AnnotationSandboxTime: ReasonCreateSandbox,
	} {
		for _, takes := range []string{"forever", "90s"} {
			f := newFake(t)
			pod := newPod(map[string]string{domain + annotation: takes}, "a", "b")
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}
			f.Begin(start, Plan{Node: "node", Pod: pod, Steps: startSteps("a", "b")})
			require.Empty(t, drain(f, start, time.Minute))
			f.Cancel(start.Add(time.Minute), "pod")
			report := drain(f, start.Add(time.Minute), 0)[time.Minute]
			require.NotNil(t, report, annotation)
			assert.True(t, report.Canceled)
			last := report.Results[len(report.Results)-1]
			assert.False(t, last.Done)
			assert.Equal(t, reason, last.Reason)
			drain(f, start.Add(time.Minute), 10*time.Hour)
			state, _ := f.Pod(start.Add(11*time.Hour), "pod")
			assert.False(t, state.Busy)
			assert.Equal(t, annotation == AnnotationPostStartTime, state.Running(), "it goes on to run")
			_, found := state.Latest("b")
			assert.False(t, found, "the plan goes on")
		}
	}
}

// A kubelet whose statuses were not written before its end counts from the
// first. The ID of a run that was removed comes never again, all the same.
func TestARunThatWasRemovedCounts(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{domain + AnnotationRunTime: "1s"}, "a")
	f.Begin(start, Plan{Node: "node", Pod: pod, Steps: startSteps("a")})
	drain(f, start, time.Minute)
	first := get(t, f, start.Add(time.Minute), "a").ID
	steps := []Step{{Kind: StepRemove, Remove: []string{first}}, {Kind: StepStart, Container: "a", MayPull: true}}
	f.Begin(start.Add(time.Minute), Plan{Node: "node", Pod: pod, Steps: steps})
	drain(f, start.Add(time.Minute), 0)
	second := get(t, f, start.Add(time.Minute), "a")
	assert.NotEqual(t, first, second.ID)
	assert.Equal(t, int32(1), second.Attempt)
}

// Calls that take too long fail when their time is over, and a pull never does.
func TestCallsTimeOut(t *testing.T) {
	for annotation, want := range map[string]struct {
		after  time.Duration
		reason string
	}{
		AnnotationSandboxTime: {4 * time.Minute, ReasonCreateSandbox},
		AnnotationStartTime:   {2 * time.Minute, ReasonCreate},
	} {
		for _, takes := range []string{"forever", "4m1ns"} {
			f := newFake(t)
			f.Begin(start, Plan{Node: "node", Pod: newPod(map[string]string{domain + annotation: takes}, "a"),
				Steps: startSteps("a")})
			report := drain(f, start, time.Hour)[want.after]
			require.NotNil(t, report, annotation)
			last := report.Results[len(report.Results)-1]
			assert.False(t, last.Done)
			assert.Equal(t, want.reason, last.Reason)
			assert.Zero(t, started(f))
		}
		f := newFake(t)
		f.Begin(start, Plan{Node: "node", Pod: newPod(map[string]string{domain + annotation: want.after.String()}, "a"),
			Steps: startSteps("a")})
		require.Contains(t, drain(f, start, time.Hour), want.after)
		assert.Equal(t, 1, started(f), "just in time")
	}
	f := newFake(t)
	f.Begin(start, Plan{Node: "node", Pod: newPod(map[string]string{domain + AnnotationPullTime: "forever"}, "a"),
		Steps: startSteps("a")})
	require.Empty(t, drain(f, start, 1000*time.Hour))
}

func TestAHookEndsWithItsContainer(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{domain + AnnotationPostStartTime: "forever"}, "a")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}
	f.Begin(start, Plan{Node: "node", Pod: pod, Steps: startSteps("a")})
	require.Empty(t, drain(f, start, time.Hour))
	require.True(t, f.Crash(start.Add(time.Hour), "pod", "a", 1))
	require.Contains(t, drain(f, start.Add(time.Hour), time.Minute), time.Hour)
}

func TestAPodHasOnePlanAtATime(t *testing.T) {
	f := newFake(t)
	plan := Plan{Pod: newPod(map[string]string{domain + "pull-time": "5s"}, "a"), Steps: startSteps("a")}
	f.Begin(start, plan)
	assert.Panics(t, func() { f.Begin(start, plan) })
	assert.False(t, f.Remove(start, "pod"))
	drain(f, start, time.Minute)
	assert.False(t, f.Remove(start, "pod"), "its container runs")
	assert.True(t, f.Crash(start.Add(time.Minute), "pod", "a", 1))
	assert.True(t, f.Remove(start.Add(time.Minute), "pod"))
	assert.Zero(t, f.queue.Len())
}

func TestProbesFollowTheAnnotations(t *testing.T) {
	annotations := map[string]string{
		domain + "startup-time": "2s", domain + "ready-time": "4s", domain + "live-time": "6s",
	}
	f, _ := begun(t, annotations, "a")
	id := get(t, f, start, "a").ID
	for seconds, want := range map[int][3]bool{1: {false, false, true}, 3: {true, false, true},
		5: {true, true, true}, 7: {true, true, false}} {
		for i, kind := range []ProbeKind{ProbeStartup, ProbeReadiness, ProbeLiveness} {
			// A clock that goes backwards is clamped, so each time has its own.
			g, _ := begun(t, annotations, "a")
			now := start.Add(time.Duration(seconds) * time.Second)
			assert.Equal(t, want[i], g.Probe(now, "pod", id, kind), "%s after %d s", kind, seconds)
		}
	}
	assert.False(t, f.Probe(start, "pod", id, ""), "an unknown kind is a failure")
}

func TestABadAnnotationIsReported(t *testing.T) {
	pod := newPod(map[string]string{
		domain + "run-time": "5", domain + "exit-code": "0,256", domain + "pull-failures": "-1",
		domain + "stop-time": "-1s",
	}, "a")
	_, err := ParseScript(pod, "a")
	for _, name := range []string{"run-time", "exit-code", "pull-failures", "stop-time"} {
		require.ErrorContains(t, err, name)
	}
	f := newFake(t)
	f.Begin(start, Plan{Pod: pod, Steps: []Step{{Kind: StepStart, Container: "a"}}})
	result := drain(f, start, 0)[0].Results[0]
	assert.False(t, result.Done)
	assert.Equal(t, ReasonConfig, result.Reason)
	assert.Contains(t, result.Message, "run-time")
}

func TestAnUnknownStepFails(t *testing.T) {
	f := newFake(t)
	f.Begin(start, Plan{Pod: newPod(nil), Steps: []Step{{}}})
	assert.False(t, drain(f, start, 0)[0].Results[0].Done)
}

// started returns how many of the containers that a runtime has were started.
func started(f *Fake) (n int) {
	for _, p := range f.pods {
		for _, c := range p.containers {
			if !c.StartedAt.IsZero() {
				n++
			}
		}
	}
	return n
}
