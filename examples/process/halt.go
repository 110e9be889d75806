package process

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// HaltAnnotation halts a program for as long as it is on the leader's Lease:
// the controller goes on, but makes no pod leave. Its value says why, and may
// be empty.
//
//	kubectl -n kube-system annotate lease NAME \
//	  lifecycle.kubelife.io/halt='wrong zone labels'
//	kubectl -n kube-system annotate lease NAME lifecycle.kubelife.io/halt-
//
// It is on the Lease, so that it outlives the process, holds for each replica,
// and needs no right that the program does not have. It goes when the Lease is
// deleted.
const HaltAnnotation = "lifecycle.kubelife.io/halt"

// A halter halts the controller, and lets it go on, as HaltAnnotation says.
type halter struct {
	namespace, name string
	client          kubernetes.Interface
	recorder        record.EventRecorder
	// leads reports whether this replica leads: only the leader tells.
	leads func() bool
	// halt and resume are those of the controller.
	halt, resume func()
	held         string // by halt, in words

	// reason is why the controller is halted, nil if it is not.
	reason atomic.Pointer[string]
}

// run follows the annotation until ctx ends. It calls known when the controller
// has been told for the first time what holds.
func (h *halter) run(ctx context.Context, known func()) error {
	factory := informers.NewSharedInformerFactoryWithOptions(h.client, 0,
		informers.WithNamespace(h.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, h.name).String()
		}))
	logger := klog.FromContext(ctx)
	handling, err := factory.Coordination().V1().Leases().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { h.observe(logger, object) },
		UpdateFunc: func(_, object any) { h.observe(logger, object) },
	})
	if err != nil {
		return fmt.Errorf("follow %s of Lease %s/%s: %w", HaltAnnotation, h.namespace, h.name, err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if cache.WaitForCacheSync(ctx.Done(), handling.HasSynced) {
		known()
	}
	<-ctx.Done()
	return nil
}

// observe does what a Lease says. That a Lease is deleted says nothing: the one
// that a leader then creates does.
func (h *halter) observe(logger klog.Logger, object any) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return
	}
	reason, halted := lease.Annotations[HaltAnnotation]
	was := h.reason.Load()
	switch {
	case halted && was == nil:
		h.halt()
		h.reason.Store(&reason)
		h.tell(logger, lease, corev1.EventTypeWarning, "Halted",
			"Halted by its annotation "+HaltAnnotation+": "+reason)
	case !halted && was != nil:
		h.reason.Store(nil)
		h.resume()
		h.tell(logger, lease, corev1.EventTypeNormal, "Resumed",
			"Its annotation "+HaltAnnotation+" is gone: what was held goes on")
	case halted && *was != reason:
		h.reason.Store(&reason)
	}
}

func (h *halter) tell(logger klog.Logger, lease *coordinationv1.Lease, kind, reason, message string) {
	logger.Info(message, "lease", klog.KObj(lease))
	if h.leads() {
		h.recorder.Event(&corev1.ObjectReference{
			APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease",
			Namespace: lease.Namespace, Name: lease.Name, UID: lease.UID,
		}, kind, reason, message)
	}
}

// state returns what /healthz?verbose says. Not the reason: anybody may ask.
func (h *halter) state() string {
	if h.reason.Load() == nil {
		return "not halted"
	}
	return "halted by " + HaltAnnotation
}

// collector is the metric of a halter.
func (h *halter) collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "controller_halted",
		Help: "1 while the annotation " + HaltAnnotation + " of the leader's Lease holds " + h.held + ".",
	}, func() float64 {
		if h.reason.Load() == nil {
			return 0
		}
		return 1
	})
}
