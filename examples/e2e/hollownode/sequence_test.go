package hollownode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// podState is what counts of a pod at one time. Texts have their reason behind
// a slash.
type podState struct {
	phase      string
	conditions map[corev1.PodConditionType]string
	containers []containerState // init containers first
	inits      int              // how many of them are init containers
	deleted    string           // its grace period, or ""
	// gone tells that the API server has removed it. All else is empty then.
	gone bool
}

type containerState struct {
	name, state    string
	ready, started bool
	restarts       int32
}

// stateOf returns the state of a pod.
func stateOf(pod *corev1.Pod) podState {
	s := podState{
		phase: word(string(pod.Status.Phase), pod.Status.Reason), conditions: map[corev1.PodConditionType]string{},
		inits: len(pod.Status.InitContainerStatuses),
	}
	for _, c := range pod.Status.Conditions {
		s.conditions[c.Type] = word(string(c.Status), c.Reason)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		s.containers = append(s.containers, containerState{
			name: c.Name, state: stateOfContainer(&c.State), ready: c.Ready, started: c.Started != nil && *c.Started,
			restarts: c.RestartCount,
		})
	}
	if pod.DeletionTimestamp != nil {
		s.deleted = fmt.Sprint(*pod.DeletionGracePeriodSeconds)
	}
	return s
}

func stateOfContainer(s *corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return word(fmt.Sprint("exited=", s.Terminated.ExitCode), s.Terminated.Reason)
	case s.Waiting != nil:
		return word("waiting", s.Waiting.Reason)
	default:
		return "nothing"
	}
}

// word is a text with its reason, if it has one.
func word(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + "/" + reason
}

// String is the state in a line.
func (s podState) String() string {
	if s.gone {
		return "gone"
	}
	parts := []string{s.phase}
	for _, kind := range slices.Sorted(maps.Keys(s.conditions)) {
		parts = append(parts, fmt.Sprintf("%s=%s", kind, s.conditions[kind]))
	}
	for _, c := range s.containers {
		text := c.name + ":" + c.state
		if c.started {
			text += "+started"
		}
		if c.ready {
			text += "+ready"
		}
		parts = append(parts, fmt.Sprintf("%s+restarts=%d", text, c.restarts))
	}
	if s.deleted != "" {
		parts = append(parts, "deleted="+s.deleted)
	}
	return strings.Join(parts, " ")
}

// copy returns a state that shares nothing.
func (s podState) copy() podState {
	s.conditions, s.containers = maps.Clone(s.conditions), slices.Clone(s.containers)
	return s
}

// recorder holds the states of all pods since it was made.
type recorder struct {
	mu     sync.Mutex
	states map[string][]podState // by the name of the pod
	pods   map[string][]*corev1.Pod
}

// record records the states of all pods until the test ends.
func (c *cluster) record() *recorder {
	c.Helper()
	pods := c.client.CoreV1().Pods(metav1.NamespaceDefault)
	list, err := pods.List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	require.Empty(c, list.Items)
	watching, err := pods.Watch(c.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(c, err)
	r := &recorder{states: map[string][]podState{}, pods: map[string][]*corev1.Pod{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watching.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			switch {
			case !isPod:
			case event.Type == watch.Deleted:
				r.add(pod.Name, podState{gone: true})
			default:
				r.add(pod.Name, stateOf(pod))
				r.keep(pod)
			}
		}
	}()
	c.Cleanup(func() {
		watching.Stop()
		<-ended
	})
	return r
}

func (r *recorder) add(name string, state podState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[name] = append(r.states[name], state)
}

// sequence returns the states of a pod so far.
func (r *recorder) sequence(name string) []podState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states[name])
}

func (r *recorder) keep(pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods[pod.Name] = append(r.pods[pod.Name], pod)
}

// objects returns all objects of a pod so far.
func (r *recorder) objects(name string) []*corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.pods[name])
}
