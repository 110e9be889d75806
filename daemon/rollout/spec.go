package rollout

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/taints"
)

// A Spec is what the set wants: a pod of a template on each node where it
// belongs. It also says how pods of former templates are replaced. [SpecOf]
// returns that of a DaemonSet. Callers with a set of another kind fill it in
// themselves.
type Spec struct {
	// Template is what the pods are made from. It must not be changed afterwards.
	Template *corev1.PodTemplateSpec
	// Revision names the template: the hash that its pods carry as the label
	// controller-revision-hash. Pods with another one are replaced.
	Revision string
	// TemplateGeneration is the deprecated name of the template, in the label
	// pod-template-generation. (The generation of the set is another number.) Pods
	// that carry it are not replaced, whatever their revision. Empty: none.
	TemplateGeneration string
	// MinReady is how long a pod has to be ready before it counts as available.
	MinReady time.Duration
	// Strategy says how pods of former templates are replaced.
	Strategy Strategy
	// Policy is what else the set says about nodes in a rollout. Nil:
	// [DefaultPolicy].
	Policy Policy
}

// SpecOf returns the spec of a DaemonSet whose current revision has that hash.
// It points to the set's template.
func SpecOf(set *appsv1.DaemonSet, revision string) Spec {
	spec := Spec{
		Template:           &set.Spec.Template,
		Revision:           revision,
		TemplateGeneration: templateGeneration(set),
		MinReady:           time.Duration(set.Spec.MinReadySeconds) * time.Second,
	}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	switch {
	case set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
		spec.Strategy.OnDelete = true
	case rolling != nil:
		if rolling.MaxUnavailable != nil {
			spec.Strategy.MaxUnavailable = *rolling.MaxUnavailable
		}
		if rolling.MaxSurge != nil {
			spec.Strategy.MaxSurge = *rolling.MaxSurge
		}
	}
	return spec
}

// ErrInvalidSpec means that something is wrong with a [Spec]: [Spec.Validate]
// and [Spec.Problems].
var ErrInvalidSpec = errors.New("invalid rollout spec")

// Validate joins the reasons for which a planner does not follow a spec, each as
// [ErrInvalidSpec].
//
// It refuses one with a missing template or revision, a MinReady below zero, or
// a node affinity without a valid term. Such an affinity would match no node,
// and all pods would be deleted. [NewPlanner] and [Planner.SetSpec] return these.
//
// It does not roll out one with invalid amounts or [ErrSurgeHostPort]. The pods
// are managed, and [Planner.Stopped] returns these.
func (s Spec) Validate() error {
	return errors.Join(s.refusal(), s.rolloutProblems())
}

// refusal returns why a planner refuses a spec.
func (s *Spec) refusal() error {
	var problems []error
	if s.Template == nil {
		problems = append(problems,
			fmt.Errorf("%w: Spec.Template is nil, want a template", ErrInvalidSpec))
	}
	if s.Revision == "" {
		problems = append(problems, fmt.Errorf(
			"%w: Spec.Revision is empty, want the hash of the template's ControllerRevision",
			ErrInvalidSpec))
	}
	if s.MinReady < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Spec.MinReady is %s, want zero or more", ErrInvalidSpec, s.MinReady))
	}
	if s.Template != nil {
		if err := placementProblems(s.Template); errors.Is(err, daemon.ErrNoValidTerm) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// Problems joins what is wrong with a spec that a planner accepts, each as
// [ErrInvalidSpec]: why it is not rolled out, and terms of the node affinity that
// are invalid. Those match no node.
func (s Spec) Problems() error {
	problems := []error{s.rolloutProblems()}
	if s.Template != nil {
		problems = append(problems, placementProblems(s.Template))
	}
	return errors.Join(problems...)
}

// rolloutProblems returns why a spec cannot be rolled out.
func (s *Spec) rolloutProblems() error {
	if _, err := s.Strategy.Limits(100); err != nil { // of fewer nodes, -5% would be none
		return err
	}
	if s.Template != nil && s.Strategy.surges() {
		return hostPort(&s.Template.Spec)
	}
	return nil
}

// placementProblems returns the problems of a template's placement as those of
// a spec.
func placementProblems(template *corev1.PodTemplateSpec) error {
	if err := daemon.Compile(template, taints.Matcher{}).Problems(); err != nil {
		return fmt.Errorf("%w: Template: %w", ErrInvalidSpec, err)
	}
	return nil
}

// equals reports whether two specs want the same.
func (s *Spec) equals(other *Spec) bool {
	if !reflect.DeepEqual(s.Policy, other.Policy) {
		return false
	}
	one, two := *s, *other
	one.Policy, two.Policy = nil, nil
	return equality.Semantic.DeepEqual(&one, &two)
}

// availableFrom returns from when on a pod counts as available, if it is ready.
// With MinReady, a pod without the time of its transition counts as not ready.
func (s *Spec) availableFrom(pod *podState) (time.Time, bool) {
	since, isReady := pod.readySince()
	switch {
	case !isReady:
		return time.Time{}, false
	case s.MinReady == 0:
		return time.Time{}, true
	case since.IsZero():
		return time.Time{}, false
	}
	return since.Add(s.MinReady), true
}

// updated reports whether a pod is of the current revision.
func (s *Spec) updated(pod *corev1.Pod) bool {
	if s.Revision != "" && pod.Labels[revisionLabel] == s.Revision {
		return true
	}
	return s.TemplateGeneration != "" && pod.Labels[generationLabel] == s.TemplateGeneration
}

// templateGeneration returns the deprecated name of a set's template, if it has
// one.
func templateGeneration(set *appsv1.DaemonSet) string {
	number, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// OwnerOf returns a DaemonSet as the owner of its pods and revisions. It copies
// pointers only.
func OwnerOf(set *appsv1.DaemonSet) ownership.Owner {
	return ownership.Owner{
		Object:   set,
		Kind:     appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		Selector: set.Spec.Selector,
	}
}

// SourceOf returns what the revisions of a DaemonSet are made from. It copies
// pointers only.
func SourceOf(set *appsv1.DaemonSet) revision.Source {
	return revision.Source{
		Owner:      OwnerOf(set),
		Template:   &set.Spec.Template,
		Collisions: set.Status.CollisionCount,
		Limit:      set.Spec.RevisionHistoryLimit,
	}
}
