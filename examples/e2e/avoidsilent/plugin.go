// Package avoidsilent is a plugin of kube-scheduler that keeps pods off silent
// nodes, which kube-controller-manager has not tainted yet. A scheduler has it
// with app.NewSchedulerCommand(app.WithPlugin(avoidsilent.Name, avoidsilent.New)).
//
// Its informers are those of the scheduler, whose user needs the right to list
// and watch leases too.
package avoidsilent

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/kubelife/lifecycle/nodehealth/observer"
	"github.com/kubelife/lifecycle/zone"
)

// Name is the name of the plugin in a KubeSchedulerConfiguration.
const Name = "AvoidSilent"

// A Plugin is a Filter.
type Plugin struct {
	view  *observer.View
	stop  context.CancelFunc
	ended chan error
}

var _ fwk.FilterPlugin = (*Plugin)(nil)

// New returns a Plugin that observes until it is closed.
func New(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	o, err := observer.NewObserver(observer.Config{Factory: handle.SharedInformerFactory()})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Plugin{view: o.View(), stop: stop, ended: make(chan error, 1)}
	go func() { p.ended <- o.Run(ctx) }()
	return p, nil
}

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }

// Filter refuses a silent node. If every zone is fully disrupted, the scheduler
// is more likely cut off than all nodes are dead.
func (p *Plugin) Filter(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, info fwk.NodeInfo) *fwk.Status {
	if p.view.Silent(info.Node().Name) && p.view.Phase() != zone.PhaseSuspended {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) were silent")
	}
	return nil
}

// Close ends what New has begun. The scheduler calls it.
func (p *Plugin) Close() error {
	p.stop()
	return <-p.ended
}
