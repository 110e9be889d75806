package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	// Rollout says how pods of former templates are replaced.
	Rollout Rollout
}

// A Rollout says how pods of former templates are replaced. It does not delay
// placement: a pod that may not stay on its node is deleted at once.
type Rollout struct {
	// OnDelete leaves them where they are until another client deletes them.
	OnDelete bool
	// MaxUnavailable is how many nodes may be without an available pod during the
	// rollout. It is a number, or a percentage, rounded up, of the nodes that
	// should have a pod. It is 1 if it and MaxSurge are zero.
	MaxUnavailable intstr.IntOrString
	// MaxSurge, unless zero, creates the new pod before the old one is deleted, on
	// so many nodes at a time, also rounded up. MaxUnavailable is then ignored.
	MaxSurge intstr.IntOrString
	// Paused lets the rollout begin on no further node. What has begun is
	// finished, and nodes that lack a pod get one.
	Paused bool
	// Partition is how many of the nodes that should have a pod keep their old
	// one, usually the last in order. A node that loses its pod still gets a new
	// one. A rollback is a rollout as well: to replace all pods of the bad
	// template, lower the Partition and end a pause.
	Partition intstr.IntOrString
	// Strict makes the limits hold also for pods that are already unavailable.
	// kube-controller-manager replaces all of those at once.
	Strict bool
}

// ErrSurgeHostPort means that a template asks for a host port, so that the new
// pod could never run next to the old one. The rollout does not begin, and pods
// are managed.
var ErrSurgeHostPort = errors.New(
	"maxSurge needs pods without host ports: old and new cannot have the same port of one node")

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
		spec.Rollout.OnDelete = true
	case rolling != nil:
		if rolling.MaxUnavailable != nil {
			spec.Rollout.MaxUnavailable = *rolling.MaxUnavailable
		}
		if rolling.MaxSurge != nil {
			spec.Rollout.MaxSurge = *rolling.MaxSurge
		}
	}
	return spec
}

// ErrInvalidSpec means that something is wrong with a [Spec]: [Spec.Validate]
// and [Spec.Problems].
var ErrInvalidSpec = errors.New("invalid daemon spec")

// Validate joins the reasons for which a planner refuses a spec, each as
// [ErrInvalidSpec]. They are a missing template or revision, a MinReady below
// zero, and a node affinity without a valid term. Such an affinity would match
// no node, and all pods would be deleted.
func (s Spec) Validate() error {
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
		if placement := Compile(s.Template, taints.Matcher{}); len(placement.terms) == 0 {
			problems = append(problems, placement.invalid())
		}
	}
	return errors.Join(problems...)
}

// Problems joins what is wrong with a spec that a planner accepts, each as
// [ErrInvalidSpec]. Terms of the node affinity that are invalid match no node.
// Invalid amounts of the rollout and [ErrSurgeHostPort] stop the rollout, and
// pods are managed.
func (s Spec) Problems() error {
	problems := []error{s.rolloutProblems()}
	if s.Template != nil {
		problems = append(problems, Compile(s.Template, taints.Matcher{}).invalid())
	}
	return errors.Join(problems...)
}

// rolloutProblems returns why a spec cannot be rolled out.
func (s *Spec) rolloutProblems() error {
	if _, err := s.Rollout.Limits(100); err != nil { // of fewer nodes, -5% would be none
		return err
	}
	if s.Template != nil && s.Rollout.surges() {
		return hostPort(&s.Template.Spec)
	}
	return nil
}

// invalid returns the problems of a placement as those of a spec.
func (p *Placement) invalid() error {
	if p.problems == nil {
		return nil
	}
	return fmt.Errorf("%w: Template: %w", ErrInvalidSpec, p.problems)
}

// Limits are the amounts of a [Rollout] for a number of nodes.
type Limits struct {
	Unavailable, Surge, Partition int
}

// Limits returns the amounts for so many nodes that should have a pod, with the
// rounding of kube-controller-manager: percentages are rounded up.
func (r Rollout) Limits(nodes int) (Limits, error) {
	var limits Limits
	problems := []error{
		scale("MaxUnavailable", &r.MaxUnavailable, nodes, &limits.Unavailable),
		scale("MaxSurge", &r.MaxSurge, nodes, &limits.Surge),
		scale("Partition", &r.Partition, nodes, &limits.Partition),
	}
	if err := errors.Join(problems...); err != nil {
		return Limits{}, err
	}
	if limits.Unavailable == 0 && limits.Surge == 0 && nodes > 0 {
		limits.Unavailable = 1
	}
	return limits, nil
}

func scale(name string, amount *intstr.IntOrString, nodes int, to *int) error {
	scaled, err := intstr.GetScaledValueFromIntOrPercent(amount, nodes, true)
	switch {
	case err != nil:
		return fmt.Errorf("%w: Rollout.%s is %q, want a number or a percentage: %w",
			ErrInvalidSpec, name, amount.String(), err)
	case scaled < 0:
		return fmt.Errorf("%w: Rollout.%s is %q, want zero or more",
			ErrInvalidSpec, name, amount.String())
	}
	*to = scaled
	return nil
}

// surges reports whether new pods are created before old ones are deleted. A
// percentage counts even without nodes.
func (r *Rollout) surges() bool {
	limits, err := r.Limits(1)
	return err == nil && !r.OnDelete && limits.Surge > 0
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

// hostPort returns an error if a pod of the template needs a port of its node.
// Init containers hold theirs as long as the pod runs if they are restarted
// always.
func hostPort(spec *corev1.PodSpec) error {
	for i := range spec.InitContainers {
		policy := spec.InitContainers[i].RestartPolicy
		if policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			if err := hostPortOf(spec, &spec.InitContainers[i]); err != nil {
				return err
			}
		}
	}
	for i := range spec.Containers {
		if err := hostPortOf(spec, &spec.Containers[i]); err != nil {
			return err
		}
	}
	return nil
}

func hostPortOf(spec *corev1.PodSpec, container *corev1.Container) error {
	for i := range container.Ports {
		port := container.Ports[i].HostPort
		if port == 0 && spec.HostNetwork { // what the API server fills in
			port = container.Ports[i].ContainerPort
		}
		if port != 0 {
			return fmt.Errorf("%w: container %s asks for port %d: %w",
				ErrInvalidSpec, container.Name, port, ErrSurgeHostPort)
		}
	}
	return nil
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
