package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

// The API server refuses a DaemonSet that does not select its own pods. It does
// not check an own kind, whose pods would be released as soon as they are made.
func TestStrangerAnOwnerThatDoesNotSelectItsOwnPodsIsRefused(t *testing.T) {
	owner := agents()
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "typo"}},
	}
	owner.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	_, err := revision.Compute(revision.Source{Owner: owner, Template: template}, nil, nil)
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
	_, err = daemon.NewPod(owner, specWith(template), creationOn("a"))
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
}

// No selector selects nothing, and what is not selected is released: all pods
// at once.
func TestStrangerAnOwnerWithoutASelectorIsRefused(t *testing.T) {
	owner := agents()
	owner.Selector = nil
	_, err := ownership.NewOwnership(owner)
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
}

func required(operator corev1.NodeSelectorOperator) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "os", Operator: operator, Values: []string{"linux"}},
					},
				}},
			},
		}}},
	}
}

func TestStrangerATemplateThatCannotBeUnderstoodDeletesNoPod(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c")
	spec := s.spec
	spec.Template, spec.Revision = required("in"), "new" // the API server of an own kind lets it in
	require.ErrorIs(t, s.SetSpec(s.now, spec), daemon.ErrInvalidSpec)
	require.Empty(t, s.Plan(s.now).Delete)
}

// What is in YAML that no API server has read has no strategy, and the default
// is a rolling update.
func TestStrangerASetWithoutAStrategyIsRolledOut(t *testing.T) {
	require.False(t, daemon.SpecOf(&appsv1.DaemonSet{}, "r").Rollout.OnDelete)
}

// A wait that ends by itself says when.
func TestStrangerAWaitForTheHoldAfterARefusedDeletionHasAnEnd(t *testing.T) {
	s := newSet(
		t,
		func(c *daemon.Config) { c.Burst = 1 },
	).running("a", "b")
	// on nodes where they may not stay
	for _, name := range []string{"a", "b"} {
		s.ObserveNode(
			s.now,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{
				Taints: []corev1.Taint{{Key: "out", Effect: corev1.TaintEffectNoExecute}},
			}},
		)
	}
	plan := s.Plan(s.now)
	require.Len(t, plan.Delete, 1)
	s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errors.New("no"), Refused: true})
	require.Empty(t, s.Plan(s.now).Delete)
	wait := s.WaitOf("b")
	require.Equal(t, daemon.WaitHeld, wait.Reason)
	require.False(t, wait.Until.IsZero())
}

// Limited would be the word for a limit that is used up. This one is not.
func TestStrangerANodeThatIsHeldUpByARefusalIsNotLimited(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").template("new")
	plan := s.Plan(s.now)
	require.Len(t, plan.Delete, 1)
	s.Report(s.now, ended{Delete: &plan.Delete[0], Err: errors.New("no"), Refused: true})
	require.Empty(t, s.Plan(s.now).Delete)
	require.Equal(t, daemon.WaitHeld, s.WaitOf("b").Reason)
}

// A pod that succeeds at once is replaced like one that fails.
func TestStrangerPodsThatEndAtOnceAreMadeWithBackoffToo(t *testing.T) {
	s := newSet(t).nodes("a")
	made := 0
	for range 600 { // a minute
		s.now = s.now.Add(100 * time.Millisecond)
		plan := s.Plan(s.now)
		for i := range plan.Create {
			made++
			s.Report(s.now, ended{Create: &plan.Create[i], Taken: true}) // its pod is the one below
			s.pod(fmt.Sprintf("done-%d", made), "a", "old", phase(corev1.PodSucceeded))
		}
		for i := range plan.Delete {
			s.Report(s.now, ended{Delete: &plan.Delete[i], Gone: true})
		}
	}
	require.LessOrEqual(t, made, 60)
}

// Each owner that comes from an API server has a selector.
func TestStrangerPodsOfAnOwnerWithASelectorAreMade(t *testing.T) {
	owner := agents()
	owner.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
	}
	pod, err := daemon.NewPod(owner, specWith(template), creationOn("a"))
	require.NoError(t, err)
	require.NotNil(t, pod)
}

// What the next plan will do does not wait for anything but that.
func TestStrangerANodeThatWasJustToldOfDoesNotWaitForABurst(t *testing.T) {
	s := newSet(t).nodes("a")
	require.Equal(t, daemon.WaitPlanned, s.WaitOf("a").Reason)
	require.Len(t, s.Plan(s.now).Create, 1)
	require.Equal(t, daemon.WaitUnderWay, s.WaitOf("a").Reason)
}

// rewriting is an API server with a webhook that changes what pods say.
type rewriting struct {
	daemon.PodClient
	change func(*corev1.Pod)
}

func (r rewriting) Create(
	_ context.Context,
	pod *corev1.Pod,
	_ metav1.CreateOptions,
) (*corev1.Pod, error) {
	made := pod.DeepCopy()
	made.UID = "made"
	r.change(made)
	return made, nil
}

func (r rewriting) Delete(context.Context, string, metav1.DeleteOptions) error { return nil }

// A created pod that is not the owner's counts for no node. Without an error
// the next one would be made at once, without end, and none deleted.
func TestStrangerAPodThatAWebhookHasTakenAwayIsAFailure(t *testing.T) {
	owner := agents()
	owner.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
	}
	for name, change := range map[string]func(*corev1.Pod){
		"controller": func(pod *corev1.Pod) { pod.OwnerReferences = nil },
		"label":      func(pod *corev1.Pod) { pod.Labels["app"] = "another" },
		"revision":   func(pod *corev1.Pod) { pod.Labels["controller-revision-hash"] = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			executor, err := daemon.NewExecutor(
				daemon.ExecutorConfig{Pods: func(string) daemon.PodClient { return rewriting{change: change} }},
			)
			require.NoError(t, err)
			planner, err := daemon.NewPlanner(daemon.Config{Spec: *specWith(template)}, start)
			require.NoError(t, err)
			made := 0
			for at := start; at.Before(start.Add(time.Minute)); at = at.Add(100 * time.Millisecond) {
				planner.ObserveNode(at, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
				results, _ := execute(t.Context(), executor, owner, planOf(planner, at))
				for _, result := range results {
					finish(planner, at, result)
					if result.Create != nil {
						made++
						require.ErrorIs(t, result.Err, daemon.ErrMutated)
					}
					if result.Pod != nil {
						planner.ForgetPod(at, result.Pod) // released, or deleted as outdated
					}
				}
			}
			require.Positive(t, made)
			require.LessOrEqual(t, made, 60)
		})
	}
}
