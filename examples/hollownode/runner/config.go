package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Label is the label of a node that names its fleet.
const Label = cri.AnnotationDomain + "/fleet"

// ErrInvalidConfig is wrapped by each error of [Config.Validate].
var ErrInvalidConfig = errors.New("invalid hollow node runner config")

// Config is what a [Runner] needs. Acting, Watching, Beating and Fleet are
// required.
type Config struct {
	// Acting is for the calls about pods and for registration, Watching for
	// informers, and Beating for the leases, which must not wait for the others.
	Acting, Watching, Beating kubernetes.Interface
	// Fleet is the value of Label that the nodes have.
	Fleet string
	// Register are the nodes that create their objects. Those that exist already
	// may be among them. The label is added.
	Register []*corev1.Node
	// Capacity and ListPods are those of kubelet.FleetConfig.
	Capacity corev1.ResourceList
	ListPods bool
	// PodNetwork is that of cri.Fake. Empty means its default.
	PodNetwork string
	// StaticPods are those of kubelet.FleetConfig, until SetStaticPods.
	StaticPods []*corev1.Pod
	// Record is that of kubelet.FleetConfig, in each Act.
	Record func(kubelet.Event)

	// Heartbeat has the times of heartbeats. Its clients, cache and metrics are
	// those of the runner.
	Heartbeat heartbeat.Config
	// SeparateReports makes leases and statuses of nodes as independent as those
	// of kubelets. Otherwise a node whose lease has expired reports at once.
	SeparateReports bool

	// Backoff is that of kubelet.FleetConfig.
	Backoff timedqueue.Backoff
	// Workers is how many calls run at a time, apart from heartbeats. Zero means
	// 16.
	Workers int
	// Timeout bounds one call. Zero means 30 s.
	Timeout time.Duration

	// Performed is told of each task that has ended. Several goroutines call it
	// at a time. Nil does nothing.
	Performed func(ctx context.Context, task kubelet.Task, err error)
	// Registered is told once in each Act, when all of Register have been
	// observed. Created is how many were not there before. It must not wait. Nil
	// does nothing.
	Registered func(created int)
	// Problem is told what is wrong with the annotations of an object, once for
	// each change of that. It must not wait. Nil does nothing.
	Problem func(object metav1.Object, err error)
	// Finished is that of the dispatcher: it is told of each task that has ended,
	// also of one that did not return. Nil means none.
	Finished func(context.Context, timedqueue.Finished)
	// Beats counts heartbeats. Nil means none.
	Beats heartbeat.Metrics
}

const (
	defaultWorkers = 16
	defaultTimeout = 30 * time.Second
)

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrInvalidConfig}, args...)...))
	}
	for name, client := range map[string]kubernetes.Interface{
		"Acting": c.Acting, "Watching": c.Watching, "Beating": c.Beating,
	} {
		if client == nil {
			wrong("%s is nil, want a client", name)
		}
	}
	if messages := validation.IsValidLabelValue(c.Fleet); c.Fleet == "" || len(messages) > 0 {
		wrong("Fleet is %q, want the value of a label", c.Fleet)
	}
	c.validateNodes(wrong)
	if err := kubelet.ValidateStaticPods(c.StaticPods); err != nil {
		wrong("StaticPods: %w", err)
	}
	if c.PodNetwork != "" {
		if err := cri.ValidatePodNetwork(c.PodNetwork); err != nil {
			wrong("PodNetwork: %w", err)
		}
	}
	if c.Workers < 0 {
		wrong("Workers is %d, want zero or more", c.Workers)
	}
	if c.Timeout < 0 {
		wrong("Timeout is %v, want zero or more", c.Timeout)
	}
	if err := c.Backoff.Validate(); err != nil {
		wrong("Backoff: %w", err)
	}
	beating := c.Heartbeat
	beating.Leases = struct{ heartbeat.LeaseClient }{} // NewSender wants some
	if err := beating.Validate(); err != nil {
		wrong("Heartbeat: %w", err)
	}
	return errors.Join(problems...)
}

func (c Config) validateNodes(wrong func(format string, args ...any)) {
	names := map[string]bool{}
	for i, node := range c.Register {
		switch {
		case node == nil || node.Name == "":
			wrong("Register[%d] has no name", i)
		case names[node.Name]:
			wrong("Register[%d] has the name %q, as another one", i, node.Name)
		default:
			names[node.Name] = true
		}
	}
}
