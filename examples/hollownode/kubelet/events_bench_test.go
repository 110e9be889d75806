package kubelet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// BenchmarkPodLife is a pod that comes, runs and ends, with and without events.
func BenchmarkPodLife(b *testing.B) {
	for name, record := range map[string]func(Event){"off": nil, "on": func(Event) {}} {
		b.Run("events="+name, func(b *testing.B) {
			b.ReportAllocs()
			runtime, err := cri.NewFake(start)
			require.NoError(b, err)
			f, err := NewFleet(FleetConfig{Runtime: runtime, Record: record}, start)
			require.NoError(b, err)
			f.ObserveNode(start, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
			f.MarkSynced(start)
			now, pods := start, 0
			for b.Loop() {
				pods++
				now = now.Add(time.Minute)
				uid := types.UID(fmt.Sprint(pods))
				f.ObservePod(now, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: string(uid), UID: uid},
					Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				})
				finishAll(f, now)
				f.ForgetPod(now, uid)
				finishAll(f, now)
			}
		})
	}
}

// finishAll does all that is due, as an API server would that never fails.
func finishAll(f *Fleet, now time.Time) {
	for task, ok := f.Start(now); ok; task, ok = f.Start(now) {
		f.Finish(now, task, ResultDone)
	}
}
