package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

var _ rollout.PodClient = typedcorev1.PodInterface(nil)

var podsResource = schema.GroupResource{Resource: "pods"}

// A podServer answers as kube-apiserver v1.37 does, for the pods of one
// namespace.
type podServer struct {
	mu     sync.Mutex
	stored map[string]*corev1.Pod
	made   int
	calls  []string // verb and name
	// underWay is how many calls are, and most how many were at once.
	underWay, most int
	// before and after are called without the lock. An error of before is the
	// answer to a call that was not done, one of after to one that was.
	before, after func(ctx context.Context, verb, name string) error
}

func newPodServer(pods ...*corev1.Pod) *podServer {
	s := &podServer{stored: map[string]*corev1.Pod{}}
	for _, pod := range pods {
		s.stored[pod.Name] = pod
	}
	return s
}

func (s *podServer) call(ctx context.Context, verb, name string, do func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, verb+" "+name)
	s.underWay++
	s.most = max(s.most, s.underWay)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.underWay--
	}()
	if s.before != nil {
		if err := s.before(ctx, verb, name); err != nil {
			return err
		}
	}
	s.mu.Lock()
	err := do()
	s.mu.Unlock()
	if s.after != nil && err == nil {
		err = s.after(ctx, verb, name)
	}
	return err
}

func (s *podServer) Create(
	ctx context.Context,
	pod *corev1.Pod,
	_ metav1.CreateOptions,
) (*corev1.Pod, error) {

	var created *corev1.Pod
	err := s.call(ctx, "create", pod.Name, func() error {
		if s.stored[pod.Name] != nil {
			return apierrors.NewAlreadyExists(podsResource, pod.Name)
		}
		s.made++
		stored := pod.DeepCopy()
		stored.UID = types.UID("made-" + strconv.Itoa(s.made))
		s.stored[pod.Name] = stored
		created = stored.DeepCopy()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

func (s *podServer) Get(
	ctx context.Context,
	name string,
	options metav1.GetOptions,
) (*corev1.Pod, error) {

	if options != (metav1.GetOptions{}) {
		return nil, errors.New("a read that a cache may answer")
	}
	var read *corev1.Pod
	err := s.call(ctx, "get", name, func() error {
		if s.stored[name] == nil {
			return apierrors.NewNotFound(podsResource, name)
		}
		read = s.stored[name].DeepCopy()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return read, nil
}

func (s *podServer) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return s.call(ctx, "delete", name, func() error {
		stored := s.stored[name]
		switch {
		case stored == nil:
			return apierrors.NewNotFound(podsResource, name)
		case options.Preconditions == nil || options.Preconditions.UID == nil:
			return errors.New("a delete without the UID")
		case *options.Preconditions.UID != stored.UID:
			return apierrors.NewConflict(
				podsResource,
				name,
				errors.New("the UID in the precondition does not match"),
			)
		}
		stored.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		return nil
	})
}

func podWith(name string, uid types.UID) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
}

func newExecutor(
	t *testing.T,
	pods rollout.PodClient,
	change ...func(*rollout.ExecutorConfig),
) *rollout.Executor {

	t.Helper()
	config := rollout.ExecutorConfig{Pods: func(namespace string) rollout.PodClient {
		require.Equal(t, agents().Object.GetNamespace(), namespace)
		return pods
	}}
	for _, c := range change {
		c(&config)
	}
	executor, err := rollout.NewExecutor(config)
	require.NoError(t, err)
	return executor
}

func planned(spec rollout.Spec, plan plan) plan {
	plan.Spec = &spec
	return plan
}

func creations(count int) plan {
	var plan plan
	for i := range count {
		plan.Create = append(plan.Create, creationOn(fmt.Sprintf("node-%d", i)))
	}
	return plan
}

func mixedPlan() plan {
	plan := creations(2)
	plan.Delete = []rollout.Deletion{
		{Pod: "old", UID: "u-old", Node: "node-3"},
		{Pod: "never", UID: "u"},
	}
	plan.Refresh = []rollout.Refresh{
		{Pod: "there", UID: "u-there"},
		{Pod: "old", UID: "former"},
		{Pod: "lost", UID: "u"},
	}
	return plan
}

func TestD4EachStepIsCarriedOutAndHasItsResult(t *testing.T) {
	there := podWith("there", "u-there")
	there.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(agents().Object, agents().Kind),
	}
	server := newPodServer(podWith("old", "u-old"), there, podWith("released", "u-released"))
	plan := mixedPlan()
	plan.Refresh = append(plan.Refresh, rollout.Refresh{Pod: "released", UID: "u-released"})
	results, err := execute(
		t.Context(),
		newExecutor(t, server),
		agents(),
		planned(*specWith(everything()), plan),
	)
	require.NoError(t, err)
	require.Len(t, results, 8)
	for i, node := range []string{"node-0", "node-1"} {
		require.Same(t, &plan.Create[i], results[i].Create)
		require.NoError(t, results[i].Err)
		require.Equal(t, server.stored[results[i].Pod.Name], results[i].Pod, "as the server has it")
		require.Equal(t, node, daemon.TargetNode(results[i].Pod))
		require.Equal(t, everything().Labels["app"], results[i].Pod.Labels["app"])
	}
	require.Equal(t, ended{Delete: &plan.Delete[0]}, results[2])
	require.NotNil(t, server.stored["old"].DeletionTimestamp)
	require.Equal(t, ended{Delete: &plan.Delete[1], Gone: true}, results[3])
	require.Equal(t, ended{Refresh: &plan.Refresh[0], Pod: server.stored["there"]}, results[4])
	require.Equal(t, ended{Refresh: &plan.Refresh[1], Gone: true}, results[5])
	require.Equal(t, ended{Refresh: &plan.Refresh[2], Gone: true}, results[6])
	require.Equal(
		t,
		ended{Refresh: &plan.Refresh[3], Pod: server.stored["released"], Released: true},
		results[7],
	)
	require.Len(t, server.calls, 8, "one call a step")
}

func TestD4AnEmptyPlanIsNothing(t *testing.T) {
	results, err := execute(
		t.Context(),
		newExecutor(t, newPodServer()),
		agents(),
		planned(*specWith(everything()), plan{}),
	)
	require.NoError(t, err)
	require.Empty(t, results)
}

// pause is a call that takes its time, unless it is given up.
func pause(d time.Duration) func(context.Context, string, string) error {
	return func(ctx context.Context, _, _ string) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestD4TasksAreNotPerformedWhenTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := newPodServer()
		server.before = pause(time.Second)
		time.AfterFunc(2500*time.Millisecond, cancel)
		plan := mixedPlan()
		plan.Create = creations(10).Create
		results, err := execute(
			ctx,
			newExecutor(t, server),
			agents(),
			planned(*specWith(everything()), plan),
		)
		require.Len(t, results, 15)
		require.ErrorIs(t, err, context.Canceled)
		for i, result := range results {
			if i < 2 { // one after the other
				require.NoError(t, result.Err)
				require.NotNil(t, result.Pod)
				continue
			}
			require.ErrorIs(t, result.Err, context.Canceled)
			require.False(t, result.Gone || result.Taken || result.Pod != nil)
			require.Equal(t, i > 2, result.Refused, "what was under way may have been done")
		}
		require.Len(t, server.calls, 3, "one was under way, and the others were not begun")
	})
}

func TestD4AStepThatHangsIsCutOff(t *testing.T) {
	for _, c := range []struct{ set, takes time.Duration }{{0, time.Minute}, {time.Second,
		time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			server := newPodServer(podWith("old", "u-old"), podWith("there", "u-there"))
			server.before = pause(time.Hour)
			began := time.Now()
			executor := newExecutor(
				t,
				server,
				func(config *rollout.ExecutorConfig) { config.Timeout = c.set },
			)
			results, err := execute(
				t.Context(),
				executor,
				agents(),
				planned(*specWith(everything()), mixedPlan()),
			)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 7*c.takes, time.Since(began), "one step after the other")
			for _, result := range results {
				require.ErrorIs(t, result.Err, context.DeadlineExceeded)
				require.False(t, result.Gone || result.Taken || result.Pod != nil)
			}
		})
	}
}

func TestD4ACreationWhoseAnswerWasLostMakesOnePod(t *testing.T) {
	server := newPodServer()
	lost := errors.New("connection reset")
	server.after = func(context.Context, string, string) error { return lost }
	executor, spec, plan := newExecutor(t, server), specWith(everything()), creations(3)
	results, err := execute(t.Context(), executor, agents(), planned(*spec, plan))
	require.ErrorIs(t, err, lost)
	for _, result := range results {
		require.ErrorIs(t, result.Err, lost)
		require.Nil(t, result.Pod)
	}
	require.Len(t, server.stored, 3)

	server.after = nil
	again := newExecutor(t, server) // after a restart, or another process
	for range 2 {
		results, err = execute(t.Context(), again, agents(), planned(*spec, plan))
		require.NoError(t, err)
		for i, result := range results {
			require.Equal(t, server.stored[result.Pod.Name], result.Pod)
			require.Equal(t, plan.Create[i].Node, daemon.TargetNode(result.Pod))
			require.False(t, result.Taken)
		}
		require.Len(t, server.stored, 3)
		require.Equal(t, 3, server.made)
	}
}

func TestD4APodOfTheNameIsOursOrTheNameIsTaken(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		taken  bool
	}{
		{"as made", func(*corev1.Pod) {}, false},
		{"running by now", func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Status.Phase = "node-0",
				corev1.PodRunning
		}, false},
		{"failed by now", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }, false},
		{"labelled by another client", func(pod *corev1.Pod) { pod.Labels["more"] = "x" }, false},
		{"of another revision",
			func(pod *corev1.Pod) { pod.Labels["controller-revision-hash"] = "other" }, true},
		{"being deleted", func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }, true},
		{"of another node", func(pod *corev1.Pod) { pod.Spec.NodeName = "node-1" }, true},
		{"of no node", func(pod *corev1.Pod) { pod.Spec.Affinity = nil }, true},
		{"of a former set of the name", func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "former" },
			true},
		{"owned, not controlled", func(pod *corev1.Pod) { pod.OwnerReferences[0].Controller = nil },
			true},
		{"of no owner", func(pod *corev1.Pod) { pod.OwnerReferences = nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			there := newPod(t, specWith(everything()), creationOn("node-0"))
			there.UID = "there"
			c.change(there)
			results, err := execute(
				t.Context(),
				newExecutor(t, newPodServer(there)),
				agents(),
				planned(*specWith(everything()), creations(1)),
			)
			require.NoError(t, err)
			require.NoError(t, results[0].Err)
			require.Equal(t, c.taken, results[0].Taken)
			if c.taken && !metav1.IsControlledBy(there, agents().Object) {
				require.Nil(t, results[0].Pod)
				return
			}
			require.Equal(t, there, results[0].Pod, "the planner waits for one that is being deleted")
		})
	}
}

func TestD4ATakenNameCostsAnAttempt(t *testing.T) {
	server := newPodServer()
	plan := creations(1)
	name := newPod(t, specWith(everything()), plan.Create[0]).Name
	server.stored[name] = podWith(name, "another's")
	executor := newExecutor(t, server)
	results, err := execute(t.Context(), executor, agents(), planned(*specWith(everything()), plan))
	require.NoError(t, err)
	require.True(t, results[0].Taken)
	plan.Create[0].Attempt++
	results, err = execute(t.Context(), executor, agents(), planned(*specWith(everything()), plan))
	require.NoError(t, err)
	require.NotNil(t, results[0].Pod)
	require.Equal(t, types.UID("another's"), server.stored[name].UID)
}

func TestD4APlanForAnotherSpecMakesNoPods(t *testing.T) {
	server := newPodServer()
	spec := specWith(everything())
	spec.Revision = "newer"
	results, err := execute(
		t.Context(),
		newExecutor(t, server),
		agents(),
		planned(*spec, creations(2)),
	)
	require.ErrorContains(
		t,
		err,
		`make pod of DaemonSet monitoring/agents for node "node-1": `+
			`the creation was planned for revision "5f6d8c7b9"`,
	)
	require.Len(t, results, 2)
	require.Error(t, results[0].Err)
	require.Empty(t, server.calls)
}
