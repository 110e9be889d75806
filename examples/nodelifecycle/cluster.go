package main

import (
	"context"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/evicting/evictionreport"
	"github.com/kubelife/lifecycle/examples/process/shadow"
)

// program does the work of kube-controller-manager's node lifecycle and taint
// eviction controllers. A shadow tells out in the end what it would have done.
func program(s *settings, out io.Writer) *process.Program {
	return &process.Program{
		Process: &s.process,
		Replica: &s.Replica,
		// The controller decides when something is tried again, and lets others go
		// first.
		Wrap: eviction.WithoutRetryAfter,
		Connect: func(ctx context.Context, clients process.Clients) (*process.Service, error) {
			if !s.process.Shadow {
				warnOfController(ctx, clients.Electing)
			}
			l, err := newLifecycle(ctx, s, clients)
			if err != nil {
				return nil, err
			}
			pages := map[string]http.Handler{
				"/pending": evictionreport.NewPage(showing(l)),
				"/doubt":   newDoubtPage(l, l.settings.Warnings()),
			}
			stop := l.events.stop
			if l.shadow != nil {
				pages["/shadow"] = shadow.NewPage(l.shadow)
				tell, err := l.shadow.Ending(ctx, out, s.process.ShadowHTML)
				if err != nil {
					l.events.stop()
					return nil, err
				}
				stop = func() {
					l.events.stop()
					tell()
				}
			}
			return &process.Service{
				Controller: l,
				Metrics:    l.registry,
				Pages:      pages,
				Leadership: l.events.nodes,
				Answer:     func() { l.View(func(*controller.Controller) {}) },
				Answered:   l.Answered,
				Unanswered: l.Unanswered,
				Held:       "all evictions and NoExecute taints",
				Halt:       l.halt,
				Resume:     l.resume,
				Stop:       stop,
			}, nil
		},
	}
}

// warnOfController tells if kube-controller-manager runs in the cluster.
// Whether it runs the two controllers that this program replaces cannot be seen
// before one of them acts; see process.Rival.
func warnOfController(ctx context.Context, client kubernetes.Interface) {
	lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).
		Get(ctx, process.RivalManager, metav1.GetOptions{})
	if err != nil || lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > time.Minute {
		return
	}
	klog.FromContext(ctx).Info("kube-controller-manager is running. Make sure that it does so with " +
		"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller")
}
