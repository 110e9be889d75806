package simulation

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
)

// Kubelets are how the scheduler and the kubelets of a cluster behave.
type Kubelets struct {
	// Bind is how long a pod waits for the scheduler. Begin is how long its
	// containers take until they run, and Ready until they are ready then. Stop is
	// how long they take to stop.
	Bind, Begin, Ready, Stop Span
	// Broken is in the name of images whose containers never become ready.
	Broken string
}

// Span is a shortest and a longest time.
type Span struct{ Min, Max time.Duration }

// kubelets are those of a scenario. A pod takes long often enough that others
// overtake it.
var kubelets = Kubelets{
	Bind:   Span{100 * time.Millisecond, 2 * time.Second},
	Begin:  Span{200 * time.Millisecond, 3 * time.Second},
	Ready:  Span{200 * time.Millisecond, 5 * time.Second},
	Stop:   Span{200 * time.Millisecond, 15 * time.Second},
	Broken: BrokenImage,
}

// draw returns a random time.
func (c *cluster) draw(from Span) time.Duration { return c.between(from.Min, from.Max) }

// react has the scheduler, the kubelets and the garbage collectors do what
// follows from a change.
func (c *cluster) react(change *invariant.Change) {
	switch after := change.After.(type) {
	case *corev1.Pod:
		if before, _ := change.Before.(*corev1.Pod); before != nil && invariant.UpdatedInPlace(before, after) {
			c.stale[after.UID] = true
		}
		c.planPod(after)
	case *corev1.Node:
		c.planNode(after.Name)
	}
	switch {
	case change.After != nil:
	case change.Kind == invariant.Nodes:
		c.planNode(change.Before.GetName())
	case change.Kind == invariant.Sets:
		c.After(c.between(time.Second, 20*time.Second), c.collect)
	}
}

// planPod plans what happens to a pod next. A pod that has changed again by
// then goes on from what it is then.
func (c *cluster) planPod(pod *corev1.Pod) {
	name, uid := pod.Name, pod.UID
	step := func(wait time.Duration, do func(*corev1.Pod)) {
		c.After(wait, func() {
			if now := get[*corev1.Pod](c, invariant.Pods, name); now != nil && now.UID == uid {
				do(now)
			}
		})
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		step(c.between(time.Second, 20*time.Second), func(*corev1.Pod) { c.collect() })
	}
	var slow time.Duration
	if m := c.nodes[nodeOf(pod)]; m != nil {
		slow = m.slow
	}
	switch {
	case pod.Spec.NodeName == "":
		step(c.draw(c.kubelets.Bind), c.schedule)
	case pod.DeletionTimestamp != nil:
		step(c.draw(c.kubelets.Stop), c.stop)
	case pod.Status.Phase == corev1.PodPending:
		step(c.draw(c.kubelets.Begin)+slow, c.begin)
	case pod.Status.Phase == corev1.PodRunning && c.stale[uid]:
		step(time.Second+c.draw(c.kubelets.Begin)+slow, c.restart)
	case pod.Status.Phase == corev1.PodRunning && !isReady(pod):
		step(c.draw(c.kubelets.Ready)+slow, c.ready)
	}
}

// planNode plans what follows from a node that has changed, is back or is gone.
func (c *cluster) planNode(node string) {
	c.After(c.between(time.Second, 30*time.Second), func() { c.visitPods(node) })
}

// visitPods has all pods of a node go on.
func (c *cluster) visitPods(node string) {
	for _, pod := range list[*corev1.Pod](c, invariant.Pods) {
		if nodeOf(pod) == node {
			if get[*corev1.Node](c, invariant.Nodes, node) == nil && pod.Spec.NodeName != "" {
				c.drop(invariant.Pods, pod)
				continue
			}
			c.planPod(pod)
		}
	}
}

// schedule binds a pod to the node that its affinity names.
func (c *cluster) schedule(pod *corev1.Pod) {
	node := get[*corev1.Node](c, invariant.Nodes, nodeOf(pod))
	if node == nil || pod.Spec.NodeName != "" || !admits(node, pod) {
		return
	}
	c.changePod(pod, func(pod *corev1.Pod) { pod.Spec.NodeName = node.Name })
}

// admits reports whether a pod tolerates the taints of a node that repel.
func admits(node *corev1.Node, pod *corev1.Pod) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		tolerated := false
		for _, t := range pod.Spec.Tolerations {
			tolerated = tolerated || (t.Key == taint.Key || t.Key == "") && (t.Effect == "" || t.Effect == taint.Effect)
		}
		if !tolerated {
			return false
		}
	}
	return true
}

// alive returns the machine of a pod whose kubelet works.
func (c *cluster) alive(pod *corev1.Pod) *machine {
	m := c.nodes[pod.Spec.NodeName]
	if m == nil || m.deadUntil > c.Elapsed() || get[*corev1.Node](c, invariant.Nodes, pod.Spec.NodeName) == nil {
		return nil
	}
	return m
}

func (c *cluster) stop(pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp == nil:
	case get[*corev1.Node](c, invariant.Nodes, pod.Spec.NodeName) == nil, c.alive(pod) != nil && len(pod.Finalizers) == 0:
		c.drop(invariant.Pods, pod)
	}
}

// begin starts the containers of a pod, or fails.
func (c *cluster) begin(pod *corev1.Pod) {
	if get[*corev1.Node](c, invariant.Nodes, pod.Spec.NodeName) == nil {
		c.drop(invariant.Pods, pod)
		return
	}
	m := c.alive(pod)
	if m == nil || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	c.changePod(pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		if m.failUntil > c.Elapsed() {
			pod.Status.Phase = corev1.PodFailed
		}
		pod.Status.Conditions = nil
	})
}

// restart ends the containers of a pod that was updated in place. They take more
// than a second, so that the condition shows it.
func (c *cluster) restart(pod *corev1.Pod) {
	if c.alive(pod) == nil || !c.stale[pod.UID] || pod.DeletionTimestamp != nil {
		return
	}
	delete(c.stale, pod.UID)
	c.changePod(pod, func(pod *corev1.Pod) { setReady(pod, corev1.ConditionFalse, c.Now()) })
}

// BrokenImage is in the name of the images of a scenario that are broken.
const BrokenImage = "broken"

// ready makes a pod ready, unless its image is broken.
func (c *cluster) ready(pod *corev1.Pod) {
	broken := strings.Contains(pod.Spec.Containers[0].Image, c.kubelets.Broken)
	if c.alive(pod) == nil || pod.Status.Phase != corev1.PodRunning || isReady(pod) || broken ||
		pod.DeletionTimestamp != nil {
		return
	}
	if until := c.unready[string(pod.UID)]; until > c.Elapsed() {
		c.After(until-c.Elapsed(), func() { c.visitPods(pod.Spec.NodeName) })
		return
	}
	c.changePod(pod, func(pod *corev1.Pod) { setReady(pod, corev1.ConditionTrue, c.Now()) })
}

func setReady(pod *corev1.Pod, status corev1.ConditionStatus, now time.Time) {
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}}
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// nodeOf returns the node that a pod is bound to, or is to be bound to.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" || pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return pod.Spec.NodeName
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return ""
	}
	for _, term := range required.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}
