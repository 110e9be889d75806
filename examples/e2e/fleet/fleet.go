// Package fleet is nodes for tests on a real API server. They register, send
// heartbeats and let their pods go, each until it is cut off. It is made of
// nodehealth's reporters, and is itself the proof that thousands of nodes fit
// into one process.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// Config describes a fleet.
type Config struct {
	// REST is how to reach the API server. It must not throttle.
	REST *rest.Config
	// Zones has a name and a number of nodes for each zone.
	Zones map[string]int
	// Interval is how far apart the heartbeats of a node are.
	Interval time.Duration
	// Stored is called for each heartbeat whose storing the API server has
	// acknowledged, by several goroutines at a time. Nil means that it is not.
	Stored func(Beat)
	// LikeKubelets makes nodes report as kubelets do. What another client has
	// overwritten in their status they report within Interval, which costs a
	// watch. An outage in which their leases expire is no reason to report, as it
	// is for a heartbeat.Sender that has both halves.
	LikeKubelets bool
}

// A Fleet is nodes that live until they are cut off. Its methods may be called
// concurrently.
type Fleet struct {
	config Config
	client kubernetes.Interface
	// renewals and reports are the same sender, except with LikeKubelets.
	renewals, reports *heartbeat.Sender
	nodes             map[string][]string // by zone
	own               map[string]bool     // all names of these
	// informers are started by Run.
	informers informers.SharedInformerFactory

	mu  sync.Mutex
	cut map[string]bool
}

var errCut = errors.New("node is cut off")

// concurrency is how many requests set a fleet up at a time.
const concurrency = 16

// New registers the nodes of a fleet. They are silent until Run.
func New(ctx context.Context, config Config) (*Fleet, error) {
	settings := rest.CopyConfig(config.REST)
	settings.UserAgent = "fleet"
	client, err := kubernetes.NewForConfig(settings)
	if err != nil {
		return nil, err
	}
	heartbeats, err := kubernetes.NewForConfig(settings) // a connection of their own
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		config: config, client: client, nodes: map[string][]string{}, own: map[string]bool{}, cut: map[string]bool{},
		informers: informers.NewSharedInformerFactory(client, 0),
	}
	if err := f.addSenders(heartbeat.Config{
		Leases:         storedLeases{heartbeats.CoordinationV1().Leases(corev1.NamespaceNodeLease), config.Stored},
		Nodes:          storedStatuses{client.CoreV1().Nodes(), config.Stored},
		LeaseDuration:  4 * config.Interval,
		RenewInterval:  config.Interval,
		StatusInterval: config.Interval,
		ReportInterval: 30 * config.Interval,
	}); err != nil {
		return nil, err
	}
	for zone, n := range config.Zones {
		for i := range n {
			name := fmt.Sprintf("%s-%04d", zone, i)
			f.nodes[zone], f.own[name] = append(f.nodes[zone], name), true
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for zone, names := range f.nodes {
		for _, name := range names {
			group.Go(func() error { return f.register(ctx, zone, name) })
		}
	}
	return f, group.Wait()
}

// addSenders makes one sender of both halves, or one of each.
func (f *Fleet) addSenders(both heartbeat.Config) (err error) {
	if !f.config.LikeKubelets {
		f.renewals, err = heartbeat.NewSender(both)
		f.reports = f.renewals
		return err
	}
	leases, statuses := both, both
	leases.Nodes, statuses.Leases = nil, nil
	statuses.Cache = f.informers.Core().V1().Nodes().Lister()
	if f.renewals, err = heartbeat.NewSender(leases); err != nil {
		return err
	}
	f.reports, err = heartbeat.NewSender(statuses)
	return err
}

func (f *Fleet) register(ctx context.Context, zone, name string) error {
	node, err := f.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelTopologyZone:  zone,
			corev1.LabelHostname:      name,
			corev1.LabelOSStable:      "linux",
			"beta.kubernetes.io/os":   "linux",
			corev1.LabelArchStable:    "amd64",
			"beta.kubernetes.io/arch": "amd64",
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("register node %s: %w", name, err)
	}
	beating := heartbeat.Node{
		Name:   name,
		UID:    node.UID,
		Alive:  func(context.Context) error { return f.alive(name) },
		Status: healthy,
	}
	if err := f.reports.Add(beating); err != nil || f.renewals == f.reports {
		return err
	}
	beating.Status = nil
	return f.renewals.Add(beating)
}

func healthy(context.Context) (corev1.NodeStatus, error) {
	room := corev1.ResourceList{ // what a scheduler asks for
		corev1.ResourceCPU:    *resource.NewQuantity(4, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(8<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	status := corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "fleet node is alive"},
	}}
	for _, pressure := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure,
		corev1.NodePIDPressure} {
		status.Conditions = append(status.Conditions, corev1.NodeCondition{
			Type: pressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientResources",
			Message: "fleet node has enough",
		})
	}
	return status, nil
}

// Run sends heartbeats and lets deleted pods of living nodes go, until ctx
// ends.
func (f *Fleet) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.reports.Run(ctx) })
	if f.renewals != f.reports {
		group.Go(func() error { return f.renewals.Run(ctx) })
	}
	group.Go(func() error { return f.finishPods(ctx) })
	return group.Wait()
}

// finishPods removes the terminating pods of the fleet's nodes that are alive,
// as their kubelets do when the containers have ended. Pods of other nodes are
// left to what runs these.
func (f *Fleet) finishPods(ctx context.Context) error {
	pods := f.informers.Core().V1().Pods().Lister()
	f.informers.Start(ctx.Done())
	defer f.informers.Shutdown()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		all, err := pods.List(everything)
		if err != nil {
			return err
		}
		for _, pod := range all {
			if pod.DeletionTimestamp != nil && f.own[pod.Spec.NodeName] && f.alive(pod.Spec.NodeName) == nil {
				f.remove(ctx, pod)
			}
		}
	}
}

// remove forgets about errors: what is left is removed at the next look.
func (f *Fleet) remove(ctx context.Context, pod *corev1.Pod) {
	now := int64(0)
	_ = f.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
}

// Nodes returns the names of a zone's nodes.
func (f *Fleet) Nodes(zone string) []string { return f.nodes[zone] }

// AllNodes returns the names of all nodes.
func (f *Fleet) AllNodes() []string {
	var all []string
	for _, names := range f.nodes {
		all = append(all, names...)
	}
	return all
}

// Cut makes nodes silent.
func (f *Fleet) Cut(names ...string) { f.set(true, names) }

// Restore makes nodes speak again, at once.
func (f *Fleet) Restore(names ...string) {
	f.set(false, names)
	for _, name := range names {
		f.reports.Changed(name)
		if f.renewals != f.reports {
			f.renewals.Changed(name)
		}
	}
}

func (f *Fleet) set(cut bool, names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		f.cut[name] = cut
	}
}

func (f *Fleet) alive(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut[name] {
		return errCut
	}
	return nil
}
