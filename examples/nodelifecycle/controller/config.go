package controller

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// ErrInvalidConfig is wrapped by the errors of New.
var ErrInvalidConfig = errors.New("invalid node lifecycle config")

// EvictionMode is what makes the pods of a node that is not ready leave.
type EvictionMode string

const (
	// EvictionModeTaint: the node gets a NoExecute taint when its zone's rate
	// allows, and each pod leaves when it does not tolerate that any longer.
	// Taints of other clients act in both modes.
	EvictionModeTaint EvictionMode = "taint"
	// EvictionModeNode: when the node has not been ready for
	// Config.PodEvictionTimeout and its zone's rate allows, all its pods leave,
	// whatever they tolerate. Those of DaemonSets stay, and pods that come later
	// leave at once. kube-controller-manager did so before it had taints.
	EvictionModeNode EvictionMode = "node"
)

// defaultPodEvictionTimeout is that of kube-controller-manager's
// --pod-eviction-timeout, which went with v1.27.
const defaultPodEvictionTimeout = 5 * time.Minute

// Config is what a [Controller] needs. The zero value has the defaults of
// kube-controller-manager v1.37.
type Config struct {
	// Health says how long a node may be silent.
	Health nodehealth.Config
	// Zone says how disrupted a zone is and how fast nodes in it are tainted. Its
	// StabilizationWindow is the Grace of Health if it is zero.
	Zone zone.Config
	// ZoneOf names a node's zone. Nil means zone.ByTopology.
	ZoneOf func(*corev1.Node) string
	// Eviction says which pods leave.
	Eviction eviction.Config
	// NoSchedule is which taints follow from the conditions of a node. The zero
	// value is taints.AppendNoSchedule.
	NoSchedule NoScheduleTaints
	// MarksPods reports whether the pods of a node that is not ready are marked not
	// ready. Nil means those of every node.
	MarksPods func(*corev1.Node) bool
	// EvictionMode is how pods are made to leave. Empty means EvictionModeTaint.
	EvictionMode EvictionMode
	// EvictionModeOf is the EvictionMode of one node. Nil, or an answer that is no
	// mode, means EvictionMode.
	EvictionModeOf func(*corev1.Node) EvictionMode
	// PodEvictionTimeout is how long a node has not been ready before its pods
	// leave, in mode EvictionModeNode. Zero means 5 minutes.
	PodEvictionTimeout time.Duration
	// PodEvictionTimeoutOf is the same for one node, and in either mode: its zone
	// does not release it before. So a node can be autonomous for a time. Zero means
	// that it waits for its zone alone; a century is for ever. The time counts from
	// the lastTransitionTime of the node's Ready condition, so a restart does not
	// begin it again; the end of an outage of all zones does. It does not take back
	// a NoExecute taint that the node has, nor that it was emptied. Nil means PodEvictionTimeout in mode
	// EvictionModeNode, and zero in mode EvictionModeTaint.
	PodEvictionTimeoutOf func(*corev1.Node) time.Duration
	// Backoff is the wait after a write to a node or pod that failed.
	Backoff timedqueue.Backoff
	// Requests is the budget of requests to the API server.
	Requests RequestBudget
	// DeclareUnconfirmed declares a silent node without a live read of its lease.
	// Then a watch that is behind makes living nodes appear silent.
	DeclareUnconfirmed bool
}

// NoScheduleTaints are taints that follow from a node as it is. Both functions
// or none must be set, and each taint that one adds the other must own.
type NoScheduleTaints struct {
	// Append adds those that a node should have to a list; see
	// taints.AppendNoSchedule.
	Append func(desired []corev1.Taint, node *corev1.Node) []corev1.Taint
	// Owns reports whether the controller may take a taint away; see
	// taints.OwnsNoSchedule.
	Owns func(*corev1.Taint) bool
}

// declarationsPart is the part of the requests that declarations have at least.
const declarationsPart = 0.25

// RequestBudget limits the requests that all actions together send to the API
// server: reads and writes, and those that fail. Declarations of silent nodes,
// recoveries of nodes, evictions, and all other work have a quarter of the
// requests each. What one of them does not need goes to the others. So taints
// are taken back, and pods are evicted, however many nodes have to be declared.
type RequestBudget struct {
	// PerSecond is how many requests are sent a second, in the long run. Zero
	// means no limit.
	PerSecond rate.Limit
	// Burst is how many can be sent at once. Zero means 1.
	Burst int
	// Eviction is the most requests that one eviction sends. Zero means 3, which is
	// what eviction.Deleter and eviction.Evictor need without a confirmation.
	Eviction int
}

// Validate joins all that is wrong with the budget.
func (b RequestBudget) Validate() error {
	var problems []error
	if b.PerSecond < 0 || math.IsNaN(float64(b.PerSecond)) {
		problems = append(problems, fmt.Errorf("Requests.PerSecond is %v, want zero or more", b.PerSecond))
	}
	if b.Burst < 0 {
		problems = append(problems, fmt.Errorf("Requests.Burst is %d, want zero or more", b.Burst))
	}
	if b.Eviction < 0 {
		problems = append(problems, fmt.Errorf("Requests.Eviction is %d, want zero or more", b.Eviction))
	}
	return errors.Join(problems...)
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	parts := []interface{ Validate() error }{c.Health, c.Zone, c.Eviction, c.Backoff, c.Requests}
	for _, part := range parts {
		if err := part.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("%w: %w", ErrInvalidConfig, err))
		}
	}
	switch c.EvictionMode {
	case "", EvictionModeTaint, EvictionModeNode:
	default:
		problems = append(problems, fmt.Errorf("%w: EvictionMode is %q, want %q or %q",
			ErrInvalidConfig, c.EvictionMode, EvictionModeTaint, EvictionModeNode))
	}
	if (c.NoSchedule.Append == nil) != (c.NoSchedule.Owns == nil) {
		problems = append(problems, fmt.Errorf("%w: NoSchedule has one of Append and Owns, want both or none",
			ErrInvalidConfig))
	}
	if c.PodEvictionTimeout < 0 {
		problems = append(problems, fmt.Errorf("%w: PodEvictionTimeout is %v, want zero or more",
			ErrInvalidConfig, c.PodEvictionTimeout))
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	if c.Zone.StabilizationWindow == 0 {
		c.Zone.StabilizationWindow = c.Health.GracePeriod
	}
	if c.EvictionMode == "" {
		c.EvictionMode = EvictionModeTaint
	}
	if c.PodEvictionTimeout == 0 {
		c.PodEvictionTimeout = defaultPodEvictionTimeout
	}
	if c.NoSchedule.Append == nil {
		c.NoSchedule = NoScheduleTaints{taints.AppendNoSchedule, taints.OwnsNoSchedule}
	}
	if c.ZoneOf == nil {
		c.ZoneOf = zone.ByTopology
	}
	if c.Requests.PerSecond == 0 {
		c.Requests.PerSecond = rate.Inf
	}
	if c.Requests.Eviction == 0 {
		c.Requests.Eviction = 3
	}
	return c
}
