package rollout

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Strategy says how pods of former templates are replaced. It does not delay
// placement: a pod that may not stay on its node is deleted at once.
type Strategy struct {
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

// Limits are the amounts of a [Strategy] for a number of nodes.
type Limits struct {
	Unavailable, Surge, Partition int
}

// Limits returns the amounts for so many nodes that should have a pod, with the
// rounding of kube-controller-manager: percentages are rounded up.
func (s Strategy) Limits(nodes int) (Limits, error) {
	var limits Limits
	problems := []error{
		scale("MaxUnavailable", &s.MaxUnavailable, nodes, &limits.Unavailable),
		scale("MaxSurge", &s.MaxSurge, nodes, &limits.Surge),
		scale("Partition", &s.Partition, nodes, &limits.Partition),
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
		return fmt.Errorf("%w: Strategy.%s is %q, want a number or a percentage: %w",
			ErrInvalidSpec, name, amount.String(), err)
	case scaled < 0:
		return fmt.Errorf("%w: Strategy.%s is %q, want zero or more",
			ErrInvalidSpec, name, amount.String())
	}
	*to = scaled
	return nil
}

// surges reports whether new pods are created before old ones are deleted. A
// percentage counts even without nodes.
func (s *Strategy) surges() bool {
	limits, err := s.Limits(1)
	return err == nil && !s.OnDelete && limits.Surge > 0
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
