package edge

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// ErrInvalidConfig is wrapped by each error of [Config.Validate].
var ErrInvalidConfig = errors.New("invalid edge config")

// Pods is what an Edge needs of a pod client of one namespace. The typed client
// of client-go is one.
type Pods interface {
	rollout.PodClient
	ownership.Patcher[*corev1.Pod]
}

// Stores are those of the informers; see feed.Config.
type Stores struct{ Sets, Pods, Revisions feed.Store }

// Config is what an [Edge] needs for sets of type T. Everything but Record is
// required.
type Config[T metav1.Object] struct {
	// Controller is fed with what the handlers are told.
	Controller *controller.Controller
	// Observe runs a turn of the controller at once and alone, and passes it the
	// time. With a dispatcher it is a call of Update. It is not called before
	// there is a report or a task.
	Observe func(turn func(now time.Time))
	// SetOf returns what the controller needs of a set, and Collisions its
	// status.collisionCount.
	SetOf      func(set T) controller.Set
	Collisions func(set T) *int32

	// Sets, Pods and Revisions return the clients of a namespace.
	Sets      func(namespace string) revision.OwnerClient[T]
	Pods      func(namespace string) Pods
	Revisions func(namespace string) revision.Client
	Stores    Stores
	// Record takes the Events that the controller wants recorded. Nil drops them.
	Record func(controller.Event)
}

// Validate joins all that is wrong with the config.
func (c Config[T]) Validate() error {
	var problems []error
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Controller", c.Controller == nil}, {"Observe", c.Observe == nil}, {"SetOf", c.SetOf == nil},
		{"Collisions", c.Collisions == nil}, {"Sets", c.Sets == nil}, {"Pods", c.Pods == nil},
		{"Revisions", c.Revisions == nil},
	} {
		if field.missing {
			problems = append(problems, fmt.Errorf("%w: Config.%s is nil", ErrInvalidConfig, field.name))
		}
	}
	return errors.Join(problems...)
}

// An Edge is everything between a controller and the cluster. It is safe for
// concurrent use if what it was configured with is.
type Edge[T metav1.Object] struct {
	// Each handler is to be added to the informer of its type.
	Sets, Pods, Nodes, Revisions cache.ResourceEventHandler

	config      Config[T]
	ofSets      *feed.Handler[T]
	ofPods      *feed.Handler[*corev1.Pod]
	ofRevisions *feed.Handler[*appsv1.ControllerRevision]
}

// NewEdge returns an Edge.
func NewEdge[T metav1.Object](config Config[T]) (*Edge[T], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	e := &Edge[T]{config: config}
	return e, e.addHandlers()
}

// Expire ends the wait for own writes; see feed.Handler.Expire.
func (e *Edge[T]) Expire() {
	e.ofSets.Expire()
	e.ofPods.Expire()
	e.ofRevisions.Expire()
}

func (e *Edge[T]) addHandlers() error {
	c := e.config.Controller
	var setErr, podErr, revisionErr error
	e.ofSets, setErr = feed.NewHandler(feed.Config[T]{
		Update: e.config.Observe, Store: e.config.Stores.Sets,
		Seen: func(now time.Time, set T) { c.ObserveSet(now, e.config.SetOf(set)) },
		Gone: func(now time.Time, set T) { c.ForgetSet(now, set.GetUID()) },
	})
	e.ofPods, podErr = feed.NewHandler(feed.Config[*corev1.Pod]{
		Update: e.config.Observe, Store: e.config.Stores.Pods, Seen: c.ObservePod, Gone: c.ForgetPod,
	})
	e.ofRevisions, revisionErr = feed.NewHandler(feed.Config[*appsv1.ControllerRevision]{
		Update: e.config.Observe, Store: e.config.Stores.Revisions, Seen: c.ObserveRevision, Gone: c.ForgetRevision,
	})
	nodes, nodeErr := feed.NewHandler(feed.Config[*corev1.Node]{
		Update: e.config.Observe, Seen: c.ObserveNode,
		Gone: func(now time.Time, node *corev1.Node) { c.ForgetNode(now, node.Name) },
	})
	e.Sets, e.Pods, e.Nodes, e.Revisions = e.ofSets, e.ofPods, changedNodes{nodes}, e.ofRevisions
	return errors.Join(setErr, podErr, revisionErr, nodeErr)
}

// changedNodes drops updates of nodes that differ in nothing that [Trim] keeps,
// except the resource version. A heartbeat of a node costs no turn.
type changedNodes struct{ cache.ResourceEventHandler }

func (h changedNodes) OnUpdate(before, after any) {
	former, ok := before.(*corev1.Node)
	node, both := after.(*corev1.Node)
	if ok && both && sameNode(former, node) {
		return
	}
	h.ResourceEventHandler.OnUpdate(before, after)
}

func sameNode(a, b *corev1.Node) bool {
	return a.UID == b.UID && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) &&
		readiness(a) == readiness(b)
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return ""
	}
	return node.Status.Conditions[i].Status
}
