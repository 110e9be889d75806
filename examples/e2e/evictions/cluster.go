package evictions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// The names that scenarios use. No other component uses the key of the taint,
// so only the subject acts on it.
const (
	namespace = metav1.NamespaceDefault
	taintKey  = "example.com/maintenance"
	app       = "app"
)

// A cluster is a control plane with nodes and pods as plain objects. It
// remembers what it has put there, and when, since that is what decides which
// pod is due when. Nothing runs: a deleted pod has no grace period and is gone
// at once.
type cluster struct {
	*sidebyside.Stage
	running  *sidebyside.Processes // the subject
	canaries int

	nodes  []string          // those that are tainted
	groups map[string][]*pod // by the name of the group

	mu      sync.Mutex
	tainted map[string]time.Time // by node
	pods    []*pod
	free    time.Time // when the last obstacle was out of the way
}

// pod is one that the scenario has put on a node.
type pod struct {
	name, node string
	// tolerates is for how long it tolerates the taint; see forever.
	tolerates time.Duration
	uid       types.UID
	// made is before the request that created it was sent, arrived before the one
	// that bound it to its node. So it may have happened later, and never earlier.
	made, arrived time.Time
	// allowed is when its budget allowed its eviction.
	allowed time.Time
	// guarded says that a budget forbids its eviction until allowed is set.
	guarded bool
}

// forever is the toleration of a pod that need never leave.
const forever time.Duration = -1

// set adds the nodes and pods of a scenario.
func (c *cluster) set(ctx context.Context, s scenario) (err error) {
	if c.nodes, err = c.addNodes(ctx, "tainted", s.nodes); err != nil {
		return err
	}
	c.groups = map[string][]*pod{}
	for _, g := range s.pods {
		if c.groups[g.name], err = c.addPods(ctx, g.name, g.n, g.tolerates, c.nodes...); err != nil {
			return err
		}
		for _, p := range c.groups[g.name] {
			p.guarded = g.guarded
		}
	}
	return c.addBystanders(ctx, c.nodes)
}

// taintAll taints the nodes of the scenario.
func (c *cluster) taintAll(ctx context.Context) error { return c.taint(ctx, c.nodes...) }

// awaitCanary waits until the subject evicts: a canary dies. That is the one
// sign of being ready that means the same for every subject.
func (c *cluster) awaitCanary(ctx context.Context) error {
	c.canaries++
	canary := fmt.Sprintf("canary-%d", c.canaries)
	if err := c.addCanary(ctx, canary); err != nil {
		return err
	}
	return c.running.Until(ctx, "the subject to evict "+canary, func(ctx context.Context) (bool, error) {
		_, err := c.Client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, canary, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// addCanary adds a pod that is to be evicted at once, and then taints its node:
// a subject has to see both. It is in another namespace than the scenario, and
// on a node of its own.
func (c *cluster) addCanary(ctx context.Context, name string) error {
	nodes, err := c.addNodes(ctx, name, 1)
	if err != nil {
		return err
	}
	_, err = c.Client.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName:                      nodes[0],
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return c.taint(ctx, nodes...)
}

// addNodes creates nodes and returns their names.
func (c *cluster) addNodes(ctx context.Context, prefix string, n int) ([]string, error) {
	var names []string
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create node %s: %w", name, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// taint adds a NoExecute taint to nodes, as controllers do: with the time.
func (c *cluster) taint(ctx context.Context, nodes ...string) error {
	for _, name := range nodes {
		now := time.Now()
		patch := fmt.Appendf(nil, `{"spec":{"taints":[{"key":%q,"effect":"NoExecute","timeAdded":%q}]}}`, taintKey,
			now.UTC().Format(time.RFC3339))
		if _, err := c.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("taint node %s: %w", name, err)
		}
		c.mu.Lock()
		c.tainted[name] = now
		c.mu.Unlock()
	}
	return nil
}

// addPods spreads n pods over the nodes and returns them. The label app is the
// prefix of their names.
func (c *cluster) addPods(ctx context.Context, prefix string, n int, tolerates time.Duration, nodes ...string) ([]*pod,
	error) {
	pods := make([]*pod, n)
	return pods, sidebyside.Each(ctx, n, func(ctx context.Context, i int) (err error) {
		pods[i], err = c.addPod(ctx, fmt.Sprintf("%s-%d", prefix, i), prefix, tolerates, nodes[i%len(nodes)])
		return err
	})
}

// addPod creates a pod, binds it as a scheduler does, and reports it ready as a
// kubelet does.
func (c *cluster) addPod(ctx context.Context, name, label string, tolerates time.Duration, node string) (*pod, error) {
	p := &pod{name: name, node: node, tolerates: tolerates, made: time.Now()}
	client := c.Client.CoreV1().Pods(namespace)
	created, err := client.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{app: label}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
			Tolerations:                   tolerations(tolerates),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create pod %s: %w", name, err)
	}
	p.uid, p.arrived = created.UID, time.Now()
	c.mu.Lock()
	c.pods = append(c.pods, p) // before it is bound: from then on it can be evicted
	c.mu.Unlock()
	err = client.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: created.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("bind pod %s: %w", name, err)
	}
	ready := fmt.Appendf(nil,
		`{"metadata":{"uid":%q},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`, created.UID)
	if _, err := client.Patch(ctx, name, types.StrategicMergePatchType, ready, metav1.PatchOptions{},
		"status"); err != nil {
		return nil, fmt.Errorf("report pod %s ready: %w", name, err)
	}
	return p, nil
}

func tolerations(tolerates time.Duration) []corev1.Toleration {
	toleration := corev1.Toleration{Key: taintKey, Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute}
	switch tolerates {
	case 0:
		return nil
	case forever:
	default:
		toleration.TolerationSeconds = new(int64(tolerates / time.Second))
	}
	return []corev1.Toleration{toleration}
}

// addBystanders adds pods that must not be evicted whatever happens. Some
// tolerate the taint for ever. Some have no toleration and are on a node that
// is not tainted.
func (c *cluster) addBystanders(ctx context.Context, tainted []string) error {
	calm, err := c.addNodes(ctx, "calm", 1)
	if err != nil {
		return err
	}
	if _, err := c.addPods(ctx, "tolerant", 2*len(tainted), forever, tainted...); err != nil {
		return err
	}
	_, err = c.addPods(ctx, "elsewhere", 5, 0, calm...)
	return err
}

// isFree says that nothing prevents evictions any longer.
func (c *cluster) isFree() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = time.Now()
}

// present returns the UIDs of the pods that are there. One that is terminating
// counts as gone: a deletion is two writes even without a grace period. An API
// server that is killed between them leaves the rest to the kubelet.
func (c *cluster) present(ctx context.Context) (map[types.UID]bool, error) {
	list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	present := map[types.UID]bool{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			present[list.Items[i].UID] = true
		}
	}
	return present, nil
}

// known returns the pods so far.
func (c *cluster) known() []*pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.pods)
}

// awaitFirst returns when the first pod is gone, at once and not at the next
// look.
func (c *cluster) awaitFirst(ctx context.Context) error {
	watched, err := c.Client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	defer watched.Stop()
	timeout := time.NewTimer(wait.Patience)
	defer timeout.Stop()
	for {
		select {
		case event, open := <-watched.ResultChan():
			if !open {
				return errors.New("the watch has ended before a pod was gone")
			}
			if event.Type == watch.Deleted {
				return nil
			}
		case <-timeout.C:
			return errors.New("no pod was gone in time")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
