package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/runner"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

const (
	demoZones        = "abc"
	demoNodesPerZone = 20
	demoToleration   = 6 // seconds
)

// patience is how long a pod of the demonstration tolerates an ill node.
type patience int

const (
	impatient patience = iota // not at all
	patient                   // for demoToleration
	faithful                  // for ever, like a DaemonSet's
)

// podsPerNode is what runs on each node of the demonstration.
var podsPerNode = []patience{impatient, patient, patient, patient, patient, faithful, faithful}

// demoFleet is the value of runner.Label of all nodes.
const demoFleet = "demo"

// world plays the script and the scheduler. The nodes are those of
// examples/hollownode.
type world struct {
	kubelets *runner.Runner
	nodes    []string
	started  time.Time

	mu   sync.Mutex
	down map[string]bool
	fell map[string][]time.Time // when a node fell silent
	cut  []span                 // when all nodes were down
	done bool
}

// newWorld creates the nodes and their pods. Their kubelets begin with run.
func newWorld(ctx context.Context, cluster *memory.Cluster) (*world, error) {
	client := cluster.NewClient()
	kubelets, err := runner.NewRunner(runner.Config{
		Acting: client, Watching: client, Beating: client, Fleet: demoFleet,
		Heartbeat: heartbeat.Config{
			LeaseDuration:  4 * time.Second,
			RenewInterval:  time.Second,
			StatusInterval: time.Second,
			// An unchanged status is no news, as with kubelets. The lease beats.
			ReportInterval: 10 * time.Second,
		},
	})
	if err != nil {
		return nil, err
	}
	w := &world{kubelets: kubelets, down: map[string]bool{}, fell: map[string][]time.Time{}}
	for _, zone := range demoZones {
		for i := range demoNodesPerZone {
			if err := w.addNode(ctx, client, string(zone), fmt.Sprintf("node-%c%02d", zone, i)); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

func (w *world) addNode(ctx context.Context, client kubernetes.Interface, zone, name string) error {
	_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelTopologyZone: zone,
			corev1.LabelOSStable:     "linux",
			corev1.LabelArchStable:   "amd64",
			runner.Label:             demoFleet,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	w.nodes = append(w.nodes, name)
	for i, p := range podsPerNode {
		if err := addPod(ctx, client, fmt.Sprintf("%s-%d", name, i), name, p); err != nil {
			return err
		}
	}
	return nil
}

func addPod(ctx context.Context, client kubernetes.Interface, name, on string, p patience) error {
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "work", Image: "work"}},
			Tolerations: p.tolerations(),
		},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	return pods.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Target:     corev1.ObjectReference{Kind: "Node", Name: on},
	}, metav1.CreateOptions{})
}

func (p patience) tolerations() []corev1.Toleration {
	if p == impatient {
		return nil
	}
	var seconds *int64
	if p == patient {
		seconds = ptr.To[int64](demoToleration)
	}
	var tolerations []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerations = append(tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds,
		})
	}
	return tolerations
}

func (w *world) inZone(zone string) []string {
	var names []string
	for _, name := range w.nodes {
		if strings.HasPrefix(name, "node-"+zone) {
			names = append(names, name)
		}
	}
	return names
}

// run is the nodes until ctx ends.
func (w *world) run(ctx context.Context) error {
	// That nodes are down is the play, not news.
	return w.kubelets.Run(klog.NewContext(ctx, logr.Discard()))
}

// play follows the script and tells the view about it.
func (w *world) play(ctx context.Context, outages []outage, show *view) {
	w.started = time.Now()
	type change struct {
		at   time.Duration
		down bool
		outage
	}
	var changes []change
	for _, o := range outages {
		changes = append(changes, change{o.at, true, o})
		if o.until > 0 {
			changes = append(changes, change{o.until, false, o})
		}
	}
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for time.Since(w.started) < demoLength {
		for i := range changes {
			if c := &changes[i]; c.at > 0 && time.Since(w.started) >= c.at {
				w.set(c.nodes, c.down)
				show.say(c.outage, c.down)
				c.at = 0
			}
		}
		show.draw()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
}

// set cuts nodes off from the API server, or ends that.
func (w *world) set(nodes []string, down bool) {
	w.record(nodes, down)
	w.kubelets.SetSilent(down, nodes...)
}

func (w *world) record(nodes []string, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, name := range nodes {
		w.down[name] = down
		if down {
			w.fell[name] = append(w.fell[name], now)
		}
	}
	last := len(w.cut) - 1
	switch isCut := last >= 0 && w.cut[last].to.IsZero(); {
	case !isCut && w.allDown():
		w.cut = append(w.cut, span{from: now})
	case isCut && !w.allDown():
		w.cut[last].to = now
	}
}

func (w *world) allDown() bool {
	return !slices.ContainsFunc(w.nodes, func(name string) bool { return !w.down[name] })
}

// played is what the script has done.
type played struct {
	fell map[string][]time.Time // when each node fell silent
	cut  []span                 // when all nodes were down; an open end is zero
}

func (w *world) history() played {
	w.mu.Lock()
	defer w.mu.Unlock()
	return played{maps.Clone(w.fell), slices.Clone(w.cut)}
}

// over reports whether the script was played to its end.
func (w *world) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}
