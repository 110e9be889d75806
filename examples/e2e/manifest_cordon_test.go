package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

const (
	replicas = "nodelifecycle"
	starter  = "nodelifecycle-starter"
	// hook is how long the preStop hook of the starter takes here. Hollow kubelets
	// take the time of a hook from an annotation.
	hook = 10 * time.Second
)

// TestManifestOfNodelifecycleStartsACordonedCluster: all nodes were cordoned
// while no replica ran, and carry the taint that only nodelifecycle removes.
// One replica is bound nevertheless, and after the uncordon all pods are.
func TestManifestOfNodelifecycleStartsACordonedCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 3})
	nodes := c.fleet.Nodes("a")
	c.patchNodes(nodes, `{"spec":{"unschedulable":true,"taints":[
		{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}}`)
	c.deployNodelifecycle()
	c.wantStarterIsAReplica()
	stranger := c.newStranger()
	c.eventually("one candidate for the lease runs", func(*witness) error { return c.wantRunning() })
	require.NoError(t, c.wantSpread(replicas, "", ""))

	c.launchDeployed(replicas, lifecycleFlags()...)
	c.patchNodes(nodes, `{"spec":{"unschedulable":null}}`)
	c.eventually("the program removes the taints",
		func(w *witness) error { return w.each(nodes, (*nodeSeen).wantHealthy) })
	c.eventually("all replicas run", func(*witness) error { return c.wantAvailable(replicas) })
	c.eventually("other pods start", func(*witness) error { return c.wantBound(stranger) })
}

// TestManifestOfNodelifecycleEndsDrains: drains that evict whatever they find on
// a node until they find nothing. Each ends, and evicts what was there when it
// began: nothing comes back to its node. While a node is open the pods go to
// open ones, although the drained ones are emptier. Then the replicas wait, and
// the starter alone moves from one cordoned node to another.
func TestManifestOfNodelifecycleEndsDrains(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 4})
	nodes := c.fleet.Nodes("a")
	open, drained := nodes[:3], nodes[3]
	require.NoError(t, c.fleet.AddPods(t.Context(), open,
		fleet.Pod{Name: "some"}, fleet.Pod{Name: "other"}, fleet.Pod{Name: "work"}))
	c.cordon(drained, true)
	c.deployNodelifecycle()
	c.launchDeployed(replicas, lifecycleFlags()...)
	c.eventually("all replicas run", func(*witness) error { return c.wantAvailable(replicas) })
	c.drainUntilEmpty(drained) // where the starter may be, if it was bound before the replicas
	first := c.nodeOfStarter()
	require.NoError(t, c.wantOn(open...))

	c.drainUntilEmpty(first)
	others := slices.DeleteFunc(slices.Clone(open), func(node string) bool { return node == first })
	c.eventually("all replicas run elsewhere", func(*witness) error { return c.wantAvailable(replicas) })
	require.NoError(t, c.wantOn(others...))

	for _, node := range others {
		c.drainUntilEmpty(node)
	}
	require.NoError(t, c.wantSpread(replicas, "", ""))
	for range 3 {
		c.drainUntilEmpty(c.nodeOfStarter())
	}
	for _, node := range nodes {
		c.cordon(node, false)
	}
	c.eventually("all replicas run again", func(*witness) error { return c.wantAvailable(replicas) })
}

// TestManifestOfNodelifecycleEndsTheDrainOfTheOnlyNode: the starter comes back
// to it once, when the evicted one has ended. An update ends there, too.
func TestManifestOfNodelifecycleEndsTheDrainOfTheOnlyNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 1})
	node := c.fleet.Nodes("a")[0]
	c.deployNodelifecycle()
	c.eventually("they run", func(*witness) error {
		return errors.Join(c.wantSpread(replicas, "", node), c.wantSpread(starter, node))
	})
	c.update(starter, 2)
	c.eventually("the update of the starter ends", func(*witness) error {
		deployment, _ := c.deployed(starter)
		status := deployment.Status
		if status.ObservedGeneration != deployment.Generation || status.Replicas != 1 ||
			status.UpdatedReplicas != 1 || status.AvailableReplicas != 1 {
			return fmt.Errorf("the status is %+v", status)
		}
		return nil
	})
	c.cordon(node, true)
	began := time.Now()
	c.drain(node, replicas)
	c.drain(node, starter)
	c.eventually("the starter is back", func(*witness) error { return c.wantSpread(starter, node) })
	require.GreaterOrEqual(t, time.Since(began), hook)
	require.NoError(t, c.wantSpread(replicas, "", ""))
}

// deployNodelifecycle applies the manifest, and starts what binds its pods.
func (c *cluster) deployNodelifecycle() {
	c.t.Helper()
	c.applyManifest("nodelifecycle")
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`,
		cri.AnnotationDomain+"/"+cri.AnnotationPreStopTime, hook)
	_, err := c.client.AppsV1().Deployments(metav1.NamespaceSystem).
		Patch(c.t.Context(), starter, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(c.t, err)
	c.startSchedulerAndDeployments()
}

// wantStarterIsAReplica wants that the starter runs what a replica runs, and
// differs in what it tolerates and in its end.
func (c *cluster) wantStarterIsAReplica() {
	c.t.Helper()
	deployment, container := c.deployed(replicas)
	template := deployment.Spec.Template.Spec
	deployment, starting := c.deployed(starter)
	startingTemplate := deployment.Spec.Template.Spec
	sleep := starting.Lifecycle.PreStop.Sleep.Seconds
	require.EqualValues(c.t, 30, sleep)
	require.Greater(c.t, *startingTemplate.TerminationGracePeriodSeconds, sleep)
	starting.Lifecycle = nil
	require.Equal(c.t, container, starting)
	require.Equal(c.t, template.SecurityContext, startingTemplate.SecurityContext)
	require.ElementsMatch(c.t, startingTemplate.Tolerations, append(template.Tolerations, corev1.Toleration{
		Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	}))
}

// drainUntilEmpty cordons a node and evicts all pods of nodelifecycle that it
// finds there until it finds none. None of them may have come meanwhile.
func (c *cluster) drainUntilEmpty(node string) {
	c.t.Helper()
	c.cordon(node, true)
	before := len(c.candidatesOn(node))
	evicted := sets.New[types.UID]()
	c.eventually("the drain of "+node+" ends", func(*witness) error {
		left := c.candidatesOn(node)
		for i := range left {
			if evicted.Has(left[i].UID) {
				continue
			}
			if err := c.client.CoreV1().Pods(left[i].Namespace).EvictV1(c.t.Context(),
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: left[i].Name}}); err != nil {
				return err
			}
			evicted.Insert(left[i].UID)
		}
		if len(left) > 0 {
			return fmt.Errorf("%d pods are left", len(left))
		}
		return nil
	})
	require.Len(c.t, evicted, before, "pods came to %s while it was drained", node)
}

// candidates returns the pods of nodelifecycle.
func (c *cluster) candidates() []corev1.Pod {
	c.t.Helper()
	var all []corev1.Pod
	for _, app := range []string{replicas, starter} {
		pods, err := c.podsOf(app)
		require.NoError(c.t, err)
		all = append(all, pods...)
	}
	return all
}

// candidatesOn returns the pods of nodelifecycle on a node, with those that
// terminate.
func (c *cluster) candidatesOn(node string) []corev1.Pod {
	c.t.Helper()
	return slices.DeleteFunc(c.candidates(), func(pod corev1.Pod) bool { return pod.Spec.NodeName != node })
}

// nodeOfStarter waits until the starter runs, and returns its node.
func (c *cluster) nodeOfStarter() (node string) {
	c.t.Helper()
	c.eventually("the starter runs", func(*witness) error {
		pods, err := c.podsOf(starter)
		for i := range pods {
			if pods[i].DeletionTimestamp == nil && fleet.IsReady(&pods[i]) {
				node = pods[i].Spec.NodeName
				return nil
			}
		}
		return errors.Join(err, errors.New("not yet"))
	})
	return node
}

// wantRunning wants that a pod of nodelifecycle runs.
func (c *cluster) wantRunning() error {
	problems := []error{errors.New("none runs")}
	for _, pod := range c.candidates() {
		if pod.DeletionTimestamp == nil && fleet.IsReady(&pod) {
			return nil
		}
		problems = append(problems, errors.New(whyUnscheduled(&pod)))
	}
	return errors.Join(problems...)
}

// wantOn wants that no pod of nodelifecycle is anywhere but on these nodes.
func (c *cluster) wantOn(nodes ...string) error {
	for _, pod := range c.candidates() {
		if !slices.Contains(nodes, pod.Spec.NodeName) {
			return fmt.Errorf("pod %s is on %q, want one of %q", pod.Name, pod.Spec.NodeName, nodes)
		}
	}
	return nil
}
