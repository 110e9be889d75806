package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const (
	crashLoops = 100
	crashes    = 20
)

// A container that crashes is started at the times that follow from the
// back-off which the kubelet uses, with the kubelet's bounds and reset.
func TestACrashLoopHasTheTimesOfTheKubelet(t *testing.T) {
	reached := reached{}
	for seed := range seeds(crashLoops) {
		runs := throw(seed).runs()
		clock := testingclock.NewFakeClock(epoch)
		// Source of the bounds and of the reset: NewMainKubelet in
		// pkg/kubelet/kubelet.go.
		backoff := flowcontrol.NewFakeBackOff(10*time.Second, 300*time.Second, clock)
		backoff.HasExpiredFunc = func(event, last time.Time, _ time.Duration) bool {
			return event.Sub(last) > 600*time.Second
		}
		started := startTimes(t, runs)
		require.Len(t, started, len(runs), "seed %d", seed)
		want := epoch
		for i, run := range runs {
			require.Equal(t, want.Sub(epoch), started[i].Sub(epoch), "seed %d: start %d of runs of %v", seed, i, runs)
			finished := want.Add(run)
			clock.SetTime(finished)
			want = finished
			if backoff.IsInBackOffSince("c", finished) {
				want = finished.Add(backoff.Get("c"))
				clock.SetTime(want)
			}
			reached.count("waits %v", want.Sub(finished))
			backoff.Next("c", finished)
		}
	}
	f := floors{}
	for _, wait := range []int{0, 10, 20, 40, 80, 160, 300} {
		f[fmt.Sprintf("waits %v", time.Duration(wait)*time.Second)] = 20
	}
	reached.require(t, f)
}

// runs returns how long each run of a container lasts.
func (d dice) runs() []time.Duration {
	var runs []time.Duration
	for range crashes {
		run := time.Duration(1+d.IntN(10)) * time.Second
		if d.oneIn(12) {
			run = 10*time.Minute + time.Duration(d.IntN(3)-1)*time.Second
		}
		runs = append(runs, run)
	}
	return runs
}

// startTimes returns when the fleet starts each run of a container.
func startTimes(t *testing.T, runs []time.Duration) []time.Time {
	fleet, runtime := fakeFleet(t)
	texts := make([]string, len(runs))
	for i, run := range runs {
		texts[i] = run.String()
	}
	fleet.ObservePod(epoch, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: shownUID, Annotations: map[string]string{
			cri.AnnotationDomain + "/" + cri.AnnotationRunTime:  strings.Join(texts, ","),
			cri.AnnotationDomain + "/" + cri.AnnotationExitCode: "1",
		}},
		Spec: corev1.PodSpec{NodeName: hollowNode, Containers: []corev1.Container{{Name: "c", Image: shownImage}}},
	})
	var started []time.Time
	end := epoch.Add(24 * time.Hour)
	for now, ok := epoch, true; ok && len(started) < len(runs) && now.Before(end); {
		for task, more := fleet.Start(now); more; task, more = fleet.Start(now) {
			fleet.Finish(now, task, kubelet.ResultDone)
		}
		pod, _ := runtime.Pod(now, shownUID)
		if c, found := pod.Latest("c"); found && int(c.Attempt) == len(started) {
			started = append(started, c.StartedAt)
		}
		var next time.Time
		if next, ok = fleet.Next(now); next.After(now) {
			now = next
		}
	}
	return started
}
