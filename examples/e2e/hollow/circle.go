package hollow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const (
	// stays is the label of pods that tolerate their node's silence for ever, one
	// on each node. The others tolerate it for tolerated.
	stays     = "stays"
	tolerated = int64(5)
)

// playCircle plays the life of a fleet. The nodes that fall silent are the first
// ones, which are spread over all zones.
func (p *play) playCircle(ctx context.Context) error {
	silenced := map[string]bool{}
	for i := range p.silenced() {
		silenced[nodeName(i)] = true
	}
	var (
		returned map[string]time.Time
		seen     *readiness
	)
	areOpen := func() error {
		return p.nodesAre(p.nodes, "take pods", func(node *corev1.Node) bool {
			return isReadyNode(node) && len(node.Spec.Taints) == 0
		})
	}
	if err := p.steps(ctx,
		step{sidebyside.Thousands(p.nodes) + " nodes are ready and take pods", p.launchAll, areOpen},
		step{sidebyside.Thousands(p.pods) + " pods of a ReplicaSet are ready, and one that stays on each node",
			p.createAll, func() error {
				return errors.Join(p.areReady(app, p.pods), p.areReady(stays, p.nodes))
			}},
		step{fmt.Sprintf("%d of them silent: all of these are tainted NoExecute", p.silenced()),
			func(ctx context.Context) error {
				_, err := p.annotate(ctx, `""`)
				return err
			}, func() error {
				return p.nodesAre(len(silenced), "are tainted", func(node *corev1.Node) bool {
					return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
						return taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute
					})
				})
			}},
		step{"all their pods of the ReplicaSet are evicted", nil, func() error {
			return p.podsAre(app, 0, "are to be evicted", func(pod *corev1.Pod) bool {
				return silenced[pod.Spec.NodeName] && pod.DeletionTimestamp == nil
			})
		}},
		step{"as many are ready on other nodes", nil, func() error {
			return p.podsAre(app, p.pods, "are ready elsewhere", func(pod *corev1.Pod) bool {
				return !silenced[pod.Spec.NodeName] && fleet.IsReady(pod) && pod.DeletionTimestamp == nil
			})
		}},
		step{"all that stay are shown not ready", nil, func() error {
			return p.podsAre(stays, len(silenced), "are not ready", func(pod *corev1.Pod) bool {
				return silenced[pod.Spec.NodeName] && !fleet.IsReady(pod)
			})
		}},
		step{"the nodes return: all that stayed are ready again", func(ctx context.Context) (err error) {
			if seen, err = p.watchReady(); err == nil {
				returned, err = p.annotate(ctx, "null")
			}
			return err
		}, func() error {
			if err := p.podsAre(stays, len(silenced), "are ready again", func(pod *corev1.Pod) bool {
				return silenced[pod.Spec.NodeName] && fleet.IsReady(pod)
			}); err != nil {
				return err
			}
			_, err := seen.slowest(returned)
			return err
		}},
		step{"the evicted pods have ended", nil, func() error { return p.areReady(app, p.pods) }},
		step{"no node has a taint", nil, areOpen},
	); err != nil {
		return err
	}
	last, err := seen.slowest(returned)
	if err != nil {
		return err
	}
	restarts, err := p.restarts()
	addReturn(&p.record, last, restarts)
	return err
}

// restarts is how often the containers of the pods that stay have restarted.
func (p *play) restarts() (n int, err error) {
	pods, err := p.seenPods.List(labels.SelectorFromSet(labels.Set{fleet.AppLabel: stays}))
	for _, pod := range pods {
		for i := range pod.Status.ContainerStatuses {
			n += int(pod.Status.ContainerStatuses[i].RestartCount)
		}
	}
	return n, err
}

// addReturn adds what ours is judged by when nodes have returned.
func addReturn(r *sidebyside.Record, last time.Duration, restarts int) {
	r.Add("the last pod that stayed is ready, after the return of its node", sidebyside.Seconds, last.Seconds()).
		AtMost(returnLimit.Seconds())
	r.Add("restarts of their containers", sidebyside.Count, float64(restarts)).AtMost(0)
}

// circleHelpers are what acts on the fleet, with the flags that each has by
// default except limits of requests that none meets.
func circleHelpers() []sidebyside.Subject {
	scheduler := sidebyside.Kubernetes(controlplane.KubeScheduler)
	replicas := sidebyside.Kubernetes(controlplane.KubeControllerManager)
	nodelifecycle := sidebyside.OurProgram("nodelifecycle")
	replicas.Args = []string{"--controllers=replicaset-controller"}
	// At 0.1 nodes a second, the default, the evictions alone would take long.
	nodelifecycle.Args = []string{"--node-eviction-rate=100"}
	return []sidebyside.Subject{scheduler, replicas, nodelifecycle}
}

// launchAll starts the fleet and all that acts on it.
func (p *play) launchAll(context.Context) (err error) {
	if p.running, err = p.Launch(sidebyside.Ours); err != nil {
		return err
	}
	for _, helper := range circleHelpers() {
		if _, err := p.Launch(helper.Name,
			"--leader-elect=false", "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=1000"); err != nil {
			return err
		}
	}
	return nil
}

// createAll gives each node a pod that stays, and the scheduler those of a
// ReplicaSet.
func (p *play) createAll(ctx context.Context) error {
	leaving := fleet.NewPod("", app, fleet.Tolerate(new(tolerated))...)
	if _, err := p.Client.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(p.pods)), Selector: &metav1.LabelSelector{MatchLabels: leaving.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: leaving.ObjectMeta, Spec: leaving.Spec},
		},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	return sidebyside.Each(ctx, p.nodes, func(ctx context.Context, i int) error {
		return p.create(ctx, stays, i, nodeName(i), fleet.Tolerate(nil)...)
	})
}

// annotate sets the annotation that makes nodes silent to a value in JSON. It
// returns when the API server has stored it of each.
func (p *play) annotate(ctx context.Context, value string) (map[string]time.Time, error) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`,
		cri.AnnotationDomain+"/"+kubelet.AnnotationSilent, value)
	stored := make([]time.Time, p.silenced())
	err := sidebyside.Each(ctx, len(stored), func(ctx context.Context, i int) error {
		_, err := p.Client.CoreV1().Nodes().
			Patch(ctx, nodeName(i), types.MergePatchType, patch, metav1.PatchOptions{})
		stored[i] = time.Now()
		return err
	})
	at := map[string]time.Time{}
	for i, when := range stored {
		at[nodeName(i)] = when
	}
	return at, err
}

// readiness remembers when the watch has shown pods ready.
type readiness struct {
	mu   sync.Mutex
	last map[string]time.Time // by node, of those that stay
}

// watchReady begins to remember, until the watch ends.
func (p *play) watchReady() (*readiness, error) {
	r := &readiness{last: map[string]time.Time{}}
	_, err := p.podEvents.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, object any) {
			before, isPod := old.(*corev1.Pod)
			if pod, is := object.(*corev1.Pod); is && isPod {
				r.see(before, pod, time.Now())
			}
		},
	})
	return r, err
}

// see takes the time when a pod that stays becomes ready.
func (r *readiness) see(before, pod *corev1.Pod, now time.Time) {
	if pod.Labels[fleet.AppLabel] != stays || fleet.IsReady(before) || !fleet.IsReady(pod) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[pod.Spec.NodeName] = now
}

// slowest returns the longest time from the return of a node until its pod was
// ready.
func (r *readiness) slowest(returned map[string]time.Time) (slowest time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for node, at := range returned {
		ready, seen := r.last[node]
		if !seen {
			return 0, fmt.Errorf("%w: no watch has shown the pod of %s ready", errMissing, node)
		}
		slowest = max(slowest, ready.Sub(at))
	}
	return slowest, nil
}
