package shadow

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrDryRun says that a shadow would have nothing to compare.
var ErrDryRun = errors.New("--shadow with --action=dry-run would compare nothing: give the action that is to be tried")

// A Shadow is a [World] for a program: its clients answer from memory, so that
// whatever acts through them sends nothing. It is safe for concurrent use.
type Shadow struct {
	// mu guards world. Nothing is called while it is held.
	mu    sync.Mutex
	world *World
}

// New returns a shadow that has seen nothing yet.
func New(config RecordConfig) (*Shadow, error) {
	world, err := NewWorld(config)
	if err != nil {
		return nil, err
	}
	return &Shadow{world: world}, nil
}

// locked calls do with the world.
func locked[T any](s *Shadow, do func(now time.Time, w *World) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(time.Now(), s.world)
}

// answer is what the API server answers with.
type answer[T any] struct {
	object T
	err    error
}

func answered[T any](s *Shadow, do func(now time.Time, w *World) (T, error)) (T, error) {
	a := locked(s, func(now time.Time, w *World) answer[T] {
		object, err := do(now, w)
		return answer[T]{object, err}
	})
	return a.object, a.err
}

// Begin says that the shadow leads, and so acts from now on.
func (s *Shadow) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.Begin(time.Now())
}

// ObserveNode and the next three are those of [World].
func (s *Shadow) ObserveNode(now time.Time, actual *corev1.Node) (*corev1.Node, []*corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.world.ObserveNode(now, actual)
}

// ForgetNode drops a node that was deleted.
func (s *Shadow) ForgetNode(now time.Time, actual *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.ForgetNode(now, actual.Name)
}

// ObservePod returns the shadow's view of a pod.
func (s *Shadow) ObservePod(now time.Time, actual *corev1.Pod) *corev1.Pod {
	return locked(s, func(_ time.Time, w *World) *corev1.Pod { return w.ObservePod(now, actual) })
}

// ForgetPod drops a pod that was deleted.
func (s *Shadow) ForgetPod(now time.Time, actual *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.ForgetPod(now, actual)
}

// Nodes returns a node client that answers from memory.
func (s *Shadow) Nodes() *Nodes { return &Nodes{s} }

// Pods returns a pod client of a namespace that answers from memory.
func (s *Shadow) Pods(namespace string) *Pods { return &Pods{s, namespace} }

// Nodes reads and writes the shadow's view of nodes.
type Nodes struct{ shadow *Shadow }

// Get returns the view of a node.
func (n *Nodes) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	return answered(n.shadow, func(_ time.Time, w *World) (*corev1.Node, error) { return w.Node(name) })
}

// Patch writes to the view of a node.
func (n *Nodes) Patch(
	_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Node, error) {
	return answered(n.shadow, func(now time.Time, w *World) (*corev1.Node, error) {
		return w.PatchNode(now, name, kind, data)
	})
}

// Pods reads and writes the shadow's view of the pods of a namespace.
type Pods struct {
	shadow    *Shadow
	namespace string
}

func (p *Pods) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: p.namespace, Name: name}
}

// Get returns the view of a pod.
func (p *Pods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	return answered(p.shadow, func(_ time.Time, w *World) (*corev1.Pod, error) { return w.Pod(p.key(name)) })
}

// Patch writes to the view of a pod.
func (p *Pods) Patch(
	_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Pod, error) {
	return answered(p.shadow, func(now time.Time, w *World) (*corev1.Pod, error) {
		return w.PatchPod(now, p.key(name), kind, data)
	})
}

// Delete makes a pod terminate in the view.
func (p *Pods) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	return locked(p.shadow, func(now time.Time, w *World) error {
		return w.DeletePod(now, p.key(name), options.Preconditions)
	})
}

// EvictV1 makes a pod terminate in the view, whatever its PodDisruptionBudget
// says.
func (p *Pods) EvictV1(_ context.Context, eviction *policyv1.Eviction) error {
	return locked(p.shadow, func(now time.Time, w *World) error {
		return w.EvictPod(now, eviction)
	})
}
