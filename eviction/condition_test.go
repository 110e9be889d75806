package eviction_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/eviction"
)

// drainer is the config of a controller with a condition of its own.
func drainer(says eviction.Condition) eviction.Config {
	return eviction.Config{
		Describe: func(eviction.Task) eviction.Condition { return says },
		Own:      []string{"Drained", "DrainedNode"},
	}
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// E10: a caller says in its own words why a pod leaves, and that is what it
// takes back.
func TestE10OwnConditionIsWrittenAndTakenBack(t *testing.T) {
	for name, test := range map[string]struct {
		says eviction.Condition
		kind corev1.PodConditionType
	}{
		"the usual type": {eviction.Condition{Reason: "Drained", Message: "m"}, corev1.DisruptionTarget},
		"a type of its own": {
			eviction.Condition{Type: "Moves", Reason: "Drained", Message: "m", StatusReason: "DrainedNode",
				StatusMessage: "s"}, "Moves",
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, sceneOptions{config: drainer(test.says)}, func(s *scene) {
				s.before = once("delete",
					func() error { return apierrors.NewInternalError(errors.New("etcd has no leader")) })
				result := s.acts(eviction.OutcomeFailed, "patch", "delete")
				live := s.get("ns", "p")
				condition := conditionOf(live, test.kind)
				require.Equal(s, corev1.ConditionTrue, condition.Status)
				require.Equal(s, []string{"Drained", "m"}, []string{condition.Reason, condition.Message})
				require.Equal(s, test.says.StatusReason, live.Status.Reason)
				require.Equal(s, test.says.StatusMessage, live.Status.Message)

				s.tracker.ObserveNode(time.Now(), newNode("n1"))
				s.fails(result)
				require.True(s, s.work.ClearCondition)
				s.acts(eviction.OutcomeConditionCleared, "get pod", "patch")
				live = s.get("ns", "p")
				condition = conditionOf(live, test.kind)
				require.Equal(s, corev1.ConditionFalse, condition.Status)
				require.Equal(s, eviction.ConditionReasonCanceled, condition.Reason)
				require.Empty(s, live.Status.Reason)
				require.Empty(s, live.Status.Message)
			})
		})
	}
}

// kube-controller-manager, or another tracker, evicts for other taints in the
// same cluster. Its condition is not ours.
func TestE10ConditionThatIsNotOwnIsLeftAlone(t *testing.T) {
	pod := newPod("p", marked)
	c := runningWith(t, drainer(eviction.Condition{Reason: "Drained"}), pod)
	c.idle(10)
	own := runningWith(t, drainer(eviction.Condition{Reason: "Drained"}),
		newPod("p", disrupted(corev1.ConditionTrue, "Drained")))
	own.start(10, "-p")

	play(t, sceneOptions{config: drainer(eviction.Condition{Reason: "Drained"}),
		pod: newPod("p", disrupted(corev1.ConditionTrue, "Drained"), tolerates("a"))},
		func(s *scene) { // it has replaced ours meanwhile
			s.put(pod)
			s.acts(eviction.OutcomeConditionCleared, "get pod")
			s.untouched(pod)
		})
}

// Other types of conditions may have the reasons that DefaultCondition has.
func TestE10ConditionOfAnotherTypeIsNotOwnByDefault(t *testing.T) {
	other := newPod("p")
	other.Status.Conditions = append(other.Status.Conditions, corev1.PodCondition{
		Type: "example.com/Migration", Status: corev1.ConditionTrue,
		Reason: eviction.ConditionReasonRequest,
	})
	require.False(t, eviction.HasDisruptionTarget(other))
	running(t, other).idle(10)
}

// What Own lacks would stay for ever. So nothing is written, and the mistake is
// not silent.
func TestE10DescribeThatLeavesOwnFailsAndWritesNothing(t *testing.T) {
	for reason, says := range map[string]eviction.Condition{
		"Typo":   {Reason: "Typo"},
		"Status": {Reason: "Drained", StatusReason: "Status"},
		"":       {},
	} {
		play(t, sceneOptions{config: drainer(says)}, func(s *scene) {
			result := s.acts(eviction.OutcomeFailed, []string{}...)
			require.ErrorIs(s, result.Err, eviction.ErrInvalidConfig)
			require.ErrorContains(s, result.Err, `Describe returns the reason "`+reason+`" for pod ns/p`)
			s.untouched(newPod("p"))
			s.tracker.Finish(time.Now(), s.work, result)
			for p := range s.tracker.PodsOn("n1") {
				require.ErrorIs(s, p.Err, eviction.ErrInvalidConfig)
			}
		})
	}
}

func TestE10OwnIsChecked(t *testing.T) {
	describe := func(eviction.Task) eviction.Condition { return eviction.Condition{} }
	for message, config := range map[string]eviction.Config{
		"Own is empty, want the reasons that Describe returns": {Describe: describe},
		`want also "NodeLost" of DefaultCondition`: {Own: []string{
			eviction.ConditionReasonTaint, eviction.ConditionReasonNode, eviction.ConditionReasonRequest,
		}},
	} {
		_, err := eviction.NewTracker(config, at(0))
		require.ErrorIs(t, err, eviction.ErrInvalidConfig)
		require.ErrorContains(t, err, message)
	}
	config := eviction.Config{Own: []string{
		eviction.ConditionReasonTaint, eviction.ConditionReasonNode, eviction.ConditionReasonRequest,
		eviction.StatusReasonNodeLost, "Former",
	}}
	c := runningWith(t, config, newPod("p", disrupted(corev1.ConditionTrue, "Former")))
	c.start(1, "-p")
}

func TestE10DefaultConditionWithoutAReasonOfTheCaller(t *testing.T) {
	task := eviction.Task{Node: "n1", Decision: eviction.Decision{Reason: eviction.ReasonRequested}}
	require.Equal(t, "Evicted from node n1.", eviction.DefaultCondition(task).Message)
	task.Decision.Reason = eviction.ReasonNodeEvicted
	require.Equal(t, "All pods are evicted from node n1.", eviction.DefaultCondition(task).Message)
}

// An empty reason is that of the pod's condition Ready. If it were own, the
// tracker would clear the conditions of all pods.
func TestE10OwnHasNoEmptyReason(t *testing.T) {
	describe := func(eviction.Task) eviction.Condition { return eviction.Condition{Reason: "Drained"} }
	_, err := eviction.NewTracker(eviction.Config{Describe: describe, Own: []string{"Drained", ""}},
		at(0))
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorContains(t, err, `Own is ["Drained" ""], want no empty reason`)
}
