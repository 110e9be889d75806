package rollout

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

// goal is what is wanted of a set: its spec, with what follows from it.
type goal struct {
	matcher taints.Matcher

	spec      *Spec
	placement *daemon.Placement
	surges    bool
	invalid   bool  // the rollout of the spec is invalid
	refusal   error // why a later spec was refused
	revision  int32 // counts the revisions that were wanted

	// limits are those for so many desired nodes. To parse percentages costs more
	// than a decision.
	limits  Limits
	limitOf int
}

func newGoal(config *Config) goal {
	g := goal{matcher: config.Matcher}
	g.use(config.Spec)
	return g
}

func (g *goal) use(spec Spec) {
	g.spec = &spec
	g.invalid = spec.rolloutProblems() != nil
	g.surges = !g.invalid && spec.Strategy.surges()
	g.placement = daemon.Compile(spec.Template, g.matcher)
	g.limitOf = -1
}

// set changes the spec. A spec that is refused changes nothing else.
func (g *goal) set(spec Spec) error {
	g.refusal = nil
	if g.spec.equals(&spec) {
		return nil // each write of a set's status causes an event of the set
	}
	if g.refusal = spec.refusal(); g.refusal != nil {
		return g.refusal
	}
	if spec.Revision != g.spec.Revision {
		g.revision++
	}
	g.use(spec)
	return nil
}

// limitsFor returns the limits of the rollout for so many desired nodes. They
// are those of a valid rollout: no other one has candidates.
func (g *goal) limitsFor(nodes int) Limits {
	if g.limitOf != nodes {
		g.limits, _ = g.spec.Strategy.Limits(nodes)
		g.limitOf = nodes
	}
	return g.limits
}

// place decides whether a node should have a pod. One that is gone should not.
func (g *goal) place(stored *storedNode) placed {
	if stored == nil {
		return placed{}
	}
	decision := g.placement.Place(stored.object)
	return placed{decision.ShouldRun, decision.ShouldContinue}
}

// placed is the part of a [daemon.Decision] that a record keeps.
type placed struct{ shouldRun, shouldContinue bool }

// createsFirst reports whether a node gets its new pod before the old one goes.
func (g *goal) createsFirst(n *nodeState) bool { return g.surges && n.decision.shouldRun }

// stopped returns why the rollout begins on no further node like this one, and
// nothing if it goes on.
func (g *goal) stopped(n *nodeState) WaitReason {
	switch {
	case g.spec.Strategy.OnDelete:
		return WaitOnDelete
	case g.invalid:
		return WaitInvalid
	case g.spec.Strategy.Paused:
		return WaitPaused
	case g.spec.Policy != nil && !g.spec.Policy.Eligible(n.object()):
		return WaitNotEligible
	}
	return ""
}

// ignores reports whether a node does not count. The pod may be nil.
func (g *goal) ignores(n *nodeState, s *podState) bool {
	if g.spec.Policy == nil {
		return false
	}
	var pod *corev1.Pod
	if s != nil {
		pod = s.pod
	}
	return g.spec.Policy.Ignores(n.object(), pod)
}
