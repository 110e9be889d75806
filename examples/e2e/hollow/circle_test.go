package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func TestTheStepsOfACircle(t *testing.T) {
	c := circle{load: "0.50", slowest: 9 * time.Second}
	c.steps = append(c.steps, circleStep{"the nodes are ready", 1250 * time.Millisecond})
	var out strings.Builder
	require.NoError(t, c.write(&out))
	require.Equal(t, `| step | after |
| --- | --- |
| the nodes are ready | 1.2 s |
| the last pod that stayed is ready, after the return of its node | 9.0 s |
| restarts of their containers | 0 |
| load average before | 0.50 |
`, out.String())
	require.NoError(t, c.problem())

	c.slowest = returnLimit + time.Millisecond
	require.ErrorIs(t, c.problem(), errTooLate)
	c.slowest, c.restarts = 0, 1
	require.ErrorIs(t, c.problem(), sidebyside.ErrOursFailed)
}

func TestACircleThatFailsShowsTheStepsBefore(t *testing.T) {
	var out strings.Builder
	require.NoError(t, (&circle{load: "0.50"}).write(&out))
	require.Equal(t, "| step | after |\n| --- | --- |\n| load average before | 0.50 |\n", out.String())
}

// TestReadinessIsTheLastTimeThatAPodBecameReady: each change to ready counts,
// and no other change does.
func TestReadinessIsTheLastTimeThatAPodBecameReady(t *testing.T) {
	pod := func(label, node string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": label}},
			Spec:       corev1.PodSpec{NodeName: node},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &readiness{last: map[string]time.Time{}}
	become := func(label, node string, after time.Duration, from, to corev1.ConditionStatus) {
		r.see(pod(label, node, from), pod(label, node, to), start.Add(after))
	}
	become(stays, "a", 1*time.Second, corev1.ConditionFalse, corev1.ConditionTrue)
	become(stays, "a", 2*time.Second, corev1.ConditionTrue, corev1.ConditionFalse)
	become(stays, "a", 5*time.Second, corev1.ConditionFalse, corev1.ConditionTrue)
	become(stays, "a", 7*time.Second, corev1.ConditionTrue, corev1.ConditionTrue)
	become(app, "b", 9*time.Second, corev1.ConditionFalse, corev1.ConditionTrue)

	returned := map[string]time.Time{"a": start.Add(time.Second)}
	slowest, err := r.slowest(returned)
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, slowest)

	returned["b"] = start
	_, err = r.slowest(returned)
	require.ErrorIs(t, err, errMissing, "only a pod of the ReplicaSet was seen there")
}

// TestTheWholeCircle plays it with few nodes. It takes a minute or two, and
// mostly waits.
func TestTheWholeCircle(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"--circle", "--nodes=40"}, t.Output())
	require.NoError(t, err)
	var out strings.Builder
	err = o.playCircle(t.Context(), t.TempDir(), &out, t.Output())
	if !errors.Is(err, errTooLate) { // which a busy machine decides, not the fleet
		require.NoError(t, err)
	}
	require.Contains(t, out.String(), "| the evicted pods have ended |")
	require.Contains(t, out.String(), "| restarts of their containers | 0 |")
}

func TestFlagsOfACircle(t *testing.T) {
	o, err := parse([]string{"--circle"}, t.Output())
	require.NoError(t, err)
	require.Equal(t, []int{2000, 4000, 200}, []int{o.nodes, o.pods, o.silenced()})
	for _, silent := range []string{"0", "51", "1"} {
		_, err := parse([]string{"--circle", "--nodes=99", "--silent=" + silent}, t.Output())
		require.ErrorContains(t, err, "--silent is "+silent)
	}
}
