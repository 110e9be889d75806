package rollout

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
)

// Config is how a [Planner] plans. Only Spec is required.
type Config struct {
	// Spec is what is wanted. [Planner.SetSpec] changes it.
	Spec Spec
	// Owner is the UID of the set. A task carries it, so that it is not performed
	// for another set, for example one that was created again under the name. The
	// names of pods follow from it, so that a planner skips those that are taken.
	// Empty: the tasks are for any owner.
	Owner types.UID
	// Nodes is the store of nodes, which other planners may use too. Nil: one of
	// its own.
	Nodes *Nodes
	// Matcher says which comparisons of tolerations are understood.
	Matcher taints.Matcher
	// Burst is how many creations, and how many deletions, may be under way or not
	// yet observed. Zero means 250, as in kube-controller-manager.
	Burst int
	// ExpectationTimeout is how long to wait for the watch to show one of our
	// writes before the pod is read. Zero means half a minute;
	// kube-controller-manager waits five minutes. The wait doubles with each read,
	// up to 15 minutes, and a set reads 30 pods a minute.
	ExpectationTimeout time.Duration
	// Less reports whether a node comes before another: which one gets its first
	// pod, or its new one, first. Equal nodes come by their names, and so do all
	// if it is nil. [Planner.SetLess] changes it. It must depend on nothing but
	// the two nodes.
	//
	// Nodes for which a call was refused come last. So do ignored nodes whose
	// available pod a rollout may take. While calls are refused, names do not
	// count, and outside of a rollout Less does not either. The next try is then
	// less likely for a neighbor with the same fault.
	Less func(a, b *corev1.Node) bool
	// Eligible reports whether a rollout may replace the pod of a node, for
	// example of canaries that carry a label. Nil: of any node.
	// [Planner.SetEligible] changes it. It must depend on nothing but the node.
	Eligible func(node *corev1.Node) bool
	// ClassifyUnavailable says whether a node without an available pod counts
	// against MaxUnavailable, or against MaxSurge where its new pod waits next to
	// the old one. The pod is nil if the node has none that stays. Nil: all nodes
	// count. [IgnoreNotReadyNodes] is one to use. It must depend on nothing but
	// its arguments.
	//
	// A node whose available pod the rollout has deleted is not asked about. It
	// counts until it has an available pod again, so that a rollout never takes
	// more available pods than MaxUnavailable. A new Planner does not know these
	// nodes.
	ClassifyUnavailable func(node *corev1.Node, pod *corev1.Pod) Unavailability
}

// Unavailability says whether a node without an available pod counts.
type Unavailability string

const (
	// UnavailabilityCounted: it counts against the limits of the rollout.
	UnavailabilityCounted Unavailability = "Counted"
	// UnavailabilityIgnored: it does not count. The rollout is not the cause, and
	// to wait for the node does not help.
	UnavailabilityIgnored Unavailability = "Ignored"
)

// IgnoreNotReadyNodes is a ClassifyUnavailable that ignores nodes that are not
// ready: a rollout goes on while some nodes are down. It also goes on when most
// are, or when the control plane only believes so. If the rollout itself makes
// nodes not ready, as one of a network plugin may, those count.
func IgnoreNotReadyNodes(node *corev1.Node, _ *corev1.Pod) Unavailability {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return UnavailabilityCounted
		}
	}
	return UnavailabilityIgnored
}

const (
	defaultBurst              = 250 // BurstReplicas of kube-controller-manager v1.37
	defaultExpectationTimeout = 30 * time.Second
)

// ErrInvalidConfig is what is wrong with a [Config] or an [ExecutorConfig].
var ErrInvalidConfig = errors.New("invalid rollout config")

// Validate joins the reasons for which [NewPlanner] refuses a configuration:
// [ErrInvalidConfig] or [ErrInvalidSpec]. A rollout that is invalid is none; see
// [Spec.Validate].
func (c Config) Validate() error {
	var problems []error
	if c.Burst < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Config.Burst is %d, want zero or more", ErrInvalidConfig, c.Burst))
	}
	if c.ExpectationTimeout < 0 {
		problems = append(problems, fmt.Errorf("%w: Config.ExpectationTimeout is %s, want zero or more",
			ErrInvalidConfig, c.ExpectationTimeout))
	}
	return errors.Join(append(problems, c.Spec.refusal())...)
}
