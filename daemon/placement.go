package daemon

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubelife/lifecycle/taints"
)

// A Placement decides on which nodes the pods of one template belong. Compile
// parses the selectors and collects the tolerations once. Place allocates
// nothing. A Placement does not change and is safe for concurrent use.
type Placement struct {
	matcher     taints.Matcher
	nodeName    string
	selector    labels.Selector // of nodeSelector; nil: any node
	terms       []term          // of the required node affinity; one must match
	anyTerm     bool            // there is no required node affinity
	tolerations []corev1.Toleration
	problems    error
}

// Compile makes the placement of the pods that a DaemonSet, or a similar set,
// has from a template. The template must not be changed afterwards.
func Compile(template *corev1.PodTemplateSpec, matcher taints.Matcher) *Placement {
	spec := &template.Spec
	p := &Placement{
		matcher:     matcher,
		nodeName:    spec.NodeName,
		tolerations: Tolerations(spec),
		anyTerm:     true,
	}
	if len(spec.NodeSelector) > 0 {
		p.selector = labels.SelectorFromSet(spec.NodeSelector)
	}
	if required := requiredAffinity(spec); required != nil {
		p.anyTerm = false
		p.terms, p.problems = compileTerms(required.NodeSelectorTerms)
	}
	return p
}

func requiredAffinity(spec *corev1.PodSpec) *corev1.NodeSelector {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// Problems returns what is wrong with the terms of the required node affinity.
// As in kube-controller-manager, an invalid term matches no node, and the
// others count. With [ErrNoValidTerm] none is left: a controller that follows
// such a placement deletes all pods. The API server of v1.37.1 refuses most
// invalid terms, but accepts a Gt or Lt whose value is no number.
func (p *Placement) Problems() error { return p.problems }

// Reason is the reason of a [Decision]: the first requirement that the node
// does not meet.
type Reason string

const (
	// ReasonFits: the node meets all requirements.
	ReasonFits Reason = "Fits"
	// ReasonOtherNode: the template names another node.
	ReasonOtherNode Reason = "OtherNode"
	// ReasonNodeSelector: the node lacks a label that the nodeSelector asks for.
	ReasonNodeSelector Reason = "NodeSelector"
	// ReasonNodeAffinity: no term of the required node affinity matches the node.
	ReasonNodeAffinity Reason = "NodeAffinity"
	// ReasonTainted: the node has a taint that the pod does not tolerate.
	ReasonTainted Reason = "Tainted"
)

// A Decision is whether a pod belongs on a node, and why.
type Decision struct {
	// ShouldRun: a pod should be on the node.
	ShouldRun bool
	// ShouldContinue: a pod that is on the node may stay.
	ShouldContinue bool
	Reason         Reason
	// Taint is the first that is not tolerated, and nil unless Reason is
	// ReasonTainted. It is one of the node's own, not a copy.
	Taint *corev1.Taint
}

// Place returns whether a pod belongs on a node. The node need not exist: it
// may be a template from which an autoscaler would make nodes. Give that a name
// that no node has. A node without a name meets the terms that ask for a name,
// as in component-helpers.
//
// If the template names a node, only that one fits. A node must have all labels
// of the nodeSelector and match one term of the required node affinity. The pod
// must tolerate all its NoSchedule and NoExecute taints, with the tolerations
// that all daemon pods get. A pod that is there may stay if only a NoSchedule
// taint is untolerated.
func (p *Placement) Place(node *corev1.Node) Decision {
	switch {
	case p.nodeName != "" && p.nodeName != node.Name:
		return Decision{Reason: ReasonOtherNode}
	case p.selector != nil && !p.selector.Matches(labels.Set(node.Labels)):
		return Decision{Reason: ReasonNodeSelector}
	case !p.fitsAffinity(node):
		return Decision{Reason: ReasonNodeAffinity}
	}
	return p.placeByTaints(node.Spec.Taints)
}

func (p *Placement) fitsAffinity(node *corev1.Node) bool {
	for i := range p.terms {
		if p.terms[i].matches(node) {
			return true
		}
	}
	return p.anyTerm
}

func (p *Placement) placeByTaints(all []corev1.Taint) Decision {
	var first *corev1.Taint
	for i := range all {
		taint := &all[i]
		if !repels(taint) || p.matcher.First(p.tolerations, taint) != nil {
			continue
		}
		if first == nil {
			first = taint
		}
		if taint.Effect == corev1.TaintEffectNoExecute {
			return Decision{Reason: ReasonTainted, Taint: first}
		}
	}
	if first != nil {
		return Decision{ShouldContinue: true, Reason: ReasonTainted, Taint: first}
	}
	return Decision{ShouldRun: true, ShouldContinue: true, Reason: ReasonFits}
}

func repels(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}
