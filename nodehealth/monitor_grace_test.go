package nodehealth_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
)

// patienceOf reads the grace period of a node from a label.
func patienceOf(node *corev1.Node) time.Duration {
	own, _ := time.ParseDuration(node.Labels["patience"])
	return own
}

func patient(node *corev1.Node, own string) *corev1.Node {
	node.Labels = map[string]string{"patience": own}
	return node
}

func TestANodeMayHaveAGracePeriodOfItsOwn(t *testing.T) {
	o := newObserver(t, nodehealth.Config{GracePeriodOf: patienceOf})
	o.sees(patient(reportingNode("a", "1", nodeClock), "1h"))
	o.sees(reportingNode("b", "1", nodeClock))
	o.sees(patient(reportingNode("c", "1", nodeClock), "5s"))
	o.finish(o.silentExactly(t, o.now.Add(5*time.Second), "c"), resultDone)
	o.finish(o.silentExactly(t, o.now.Add(monitorGrace-5*time.Second), "b"), resultDone)
	task := o.silentExactly(t, o.now.Add(time.Hour-monitorGrace), "a")
	require.Equal(t, time.Hour, task.GracePeriod)
}

// An operator who takes the annotation off a dead node need not wait for the
// hour that it had.
func TestAShorterGracePeriodActsAtOnce(t *testing.T) {
	o := newObserver(t, nodehealth.Config{GracePeriodOf: patienceOf})
	node := reportingNode("a", "1", nodeClock)
	o.sees(patient(node.DeepCopy(), "1h"))
	o.pass(10 * time.Minute)
	o.quiet(t)
	o.sees(node)
	o.finish(o.silent(t, "a"), resultDone)

	o.sees(patient(node.DeepCopy(), "1h"))
	o.quiet(t, "It is recorded as silent, and is until it is heard.")
	o.beats("a")
	o.alive(t, "a")
}

func TestALongerGracePeriodBeginsWithTheLastHeartbeat(t *testing.T) {
	o := newObserver(t, nodehealth.Config{GracePeriodOf: patienceOf})
	node := reportingNode("a", "1", nodeClock)
	o.sees(node)
	o.pass(monitorGrace - time.Second)
	o.sees(patient(node.DeepCopy(), "2m"))
	o.silentExactly(t, o.now.Add(2*time.Minute-monitorGrace+time.Second), "a")
}

func TestAKeyMayHaveAGracePeriodOfItsOwn(t *testing.T) {
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	m, err := nodehealth.NewMonitor[string](nodehealth.Config{}, now)
	require.NoError(t, err)
	m.Observe(now, "a", nodehealth.Observation{Reported: true, GracePeriod: time.Second})
	m.Observe(now, "b", nodehealth.Observation{Reported: true, GracePeriod: -1})
	for key, grace := range map[string]time.Duration{"a": time.Second, "b": 50 * time.Second} {
		require.False(t, m.Expired(now.Add(grace-1), key))
		require.True(t, m.Expired(now.Add(grace), key))
	}
	_, err = nodehealth.NewMonitor[string](nodehealth.Config{GracePeriodOf: patienceOf}, now)
	require.ErrorContains(t, err, "GracePeriodOf")
}

// An edge node is annotated while the link to it is bad: its silence was found,
// and is not written yet. The task that is under way ends for nothing.
func TestALongerGracePeriodTakesBackASilenceThatIsNotRecorded(t *testing.T) {
	for _, c := range []struct {
		name   string
		result nodehealth.Result
	}{
		{"while its record is under way", nodehealth.Result{}},
		{"after its record has failed", resultFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newObserver(t, nodehealth.Config{GracePeriodOf: patienceOf})
			node := reportingNode("a", "1", nodeClock)
			o.sees(node)
			heard := o.now
			o.pass(monitorGrace)
			task := o.silent(t, "a")
			if c.result.Outcome != "" {
				o.finish(task, c.result)
			}
			o.sees(patient(node.DeepCopy(), "1h"))
			require.False(t, o.Silent("a") && !o.Returning("a"))
			if c.result.Outcome == "" {
				o.finish(task, resultDone)
			}
			o.finish(o.alive(t, "a"), resultDone)
			require.False(t, o.Silent("a"))
			o.silentExactly(t, heard.Add(time.Hour), "a")
		})
	}
}
