package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/taints"
)

// A Spec is what is wanted: a pod of a template on each node where it belongs,
// and how pods of former templates are replaced. [SpecOf] makes one of a
// DaemonSet. Callers with a set of another kind fill it in themselves.
type Spec struct {
	// Template is what the pods are made from. It must not be changed afterwards.
	Template *corev1.PodTemplateSpec
	// Revision names the template: the hash that its pods carry as the label
	// controller-revision-hash. Pods with another one are replaced.
	Revision string
	// TemplateGeneration is the deprecated name of the template, in the label
	// pod-template-generation. The generation of the set is another number. Pods
	// that carry it are not replaced, whatever their revision; empty: none.
	TemplateGeneration string
	// MinReady is how long a pod has to be ready before it counts as available.
	MinReady time.Duration
	// Rollout says how pods of former templates are replaced.
	Rollout Rollout
}

// A Rollout says how pods of former templates are replaced. Where pods belong
// follows the template at once: a pod that may not stay where it is goes,
// however far the rollout is.
type Rollout struct {
	// OnDelete leaves them where they are until another client deletes them.
	OnDelete bool
	// MaxUnavailable is how many nodes may be without an available pod for the
	// sake of the rollout: a number, or a percentage of the nodes that should have
	// one, rounded up. It is 1 if both are zero.
	MaxUnavailable intstr.IntOrString
	// MaxSurge, unless zero, makes the new pod before the old one is deleted, on
	// so many nodes at a time, rounded up too. MaxUnavailable does not count then.
	MaxSurge intstr.IntOrString
	// Paused lets the rollout begin on no further node. What has begun is
	// finished, and nodes that lack a pod get one.
	Paused bool
	// Partition is how many nodes keep their old pods, of those that should have
	// one: mostly those that would be the last. A node that loses its pod still
	// gets a new one. To go back to a former template is a rollout as well, and
	// leaves as many pods of the bad one: lower the Partition with it, and end a
	// pause.
	Partition intstr.IntOrString
	// Strict makes the limits hold for pods that are unavailable already, too.
	// kube-controller-manager replaces all of those at once.
	Strict bool
}

// ErrSurgeHostPort means that a template asks for a port of its node: the new
// pod could never run next to the old one. The rollout does not begin, and pods
// are managed.
var ErrSurgeHostPort = errors.New(
	"maxSurge needs pods without host ports: old and new cannot have the same port of one node")

// SpecOf returns the spec of a DaemonSet whose current revision has that hash.
// It shares the template with it.
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

// Validate joins why no pods can be managed by a spec, as [ErrInvalidSpec]: no
// template, no revision, a MinReady below zero, or a node affinity without a
// term that can be understood. That would match no node, and all pods would be
// deleted.
func (s Spec) Validate() error {
	var problems []error
	if s.Template == nil {
		problems = append(problems, fmt.Errorf("%w: Template is missing", ErrInvalidSpec))
	}
	if s.Revision == "" {
		problems = append(problems, fmt.Errorf(
			"%w: Revision is empty: it is the hash of the template's ControllerRevision", ErrInvalidSpec))
	}
	if s.MinReady < 0 {
		problems = append(problems,
			fmt.Errorf("%w: MinReady is %s, want zero or more", ErrInvalidSpec, s.MinReady))
	}
	if s.Template != nil {
		if placement := Compile(s.Template, taints.Matcher{}); len(placement.terms) == 0 {
			problems = append(problems, placement.invalid())
		}
	}
	return errors.Join(problems...)
}

// Problems returns what is wrong with a spec by which pods are managed
// nevertheless, as [ErrInvalidSpec]: terms of the node affinity that cannot be
// understood, while the others count, amounts of the rollout that are none, and
// [ErrSurgeHostPort]. What is wrong with the rollout stops the rollout and
// nothing else.
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

// surges reports whether new pods come before old ones go. A percentage counts
// even where there are no nodes.
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

// limits are the limits of the rollout for a number of nodes that should have a
// pod. To read percentages costs more than a decision.
type limits struct {
	known bool
	nodes int
	of    Limits
	err   error
}
