package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestManifestsStartANewCluster: every node is born with a taint
// that only nodelifecycle removes, and kube-scheduler binds its replicas
// nevertheless, the second to the second node. An update on as many nodes as
// replicas ends, one on a single node replaces all replicas, and a replica
// leaves a node that fails.
func TestManifestsStartANewCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 3})
	nodes := c.fleet.Nodes("a")
	first, spare := nodes[:2], nodes[2]
	c.cordon(first[1], true)
	c.cordon(spare, true)
	c.enforceRestricted()
	c.startSchedulerAndDeployments()
	stranger := c.newStranger()
	programs := []string{"nodelifecycle", "tainteviction", "scheduler"}
	for program, pages := range map[string]int{"nodelifecycle": 3, "tainteviction": 2, "scheduler": 3} {
		c.applyManifest(program)
		c.wantMemoryFits(program, pages)
	}
	for _, program := range programs {
		c.eventually("the only node gets one replica of "+program, func(*witness) error {
			return errors.Join(c.wantSpread(program, "", first[0]), c.wantKeptApart(program))
		})
	}
	c.cordon(first[1], false)
	for _, program := range programs {
		c.eventually("the replicas of "+program+" are on two nodes",
			func(*witness) error { return c.wantSpread(program, first...) })
		c.eventually("they run", func(*witness) error { return c.wantAvailable(program) })
	}
	require.NoError(t, c.witness.ask(func(w *witness) error { return w.each(first, (*nodeSeen).wantNewborn) }))
	require.ErrorContains(t, c.wantBound(stranger), "untolerated taint")

	c.launchDeployed("nodelifecycle", lifecycleFlags()...)
	c.eventually("the program removes the taints",
		func(w *witness) error { return w.each(first, (*nodeSeen).wantHealthy) })
	c.eventually("other pods start", func(*witness) error { return c.wantBound(stranger) })

	for _, program := range programs {
		c.wantUpdatesEnd(program, first)
	}

	settle(t)
	c.cordon(spare, false)
	c.fleet.Cut(first[0])
	for _, program := range programs {
		c.within(2*patience, "a replica of "+program+" leaves its failed node", func(*witness) error {
			return errors.Join(c.wantSpread(program, first[1], spare), c.wantAvailable(program))
		})
	}
}

// wantUpdatesEnd updates a program that runs on two nodes, and again with one
// of them drained. Both updates end.
func (c *cluster) wantUpdatesEnd(program string, nodes []string) {
	c.t.Helper()
	c.update(program, 2)
	c.eventually("the update of "+program+" ends", func(*witness) error { return c.wantAvailable(program) })
	require.NoError(c.t, c.wantSpread(program, nodes...))
	c.cordon(nodes[1], true)
	c.drain(nodes[1], program)
	c.eventually("a drain leaves one", func(*witness) error { return c.wantSpread(program, "", nodes[0]) })
	c.update(program, 3)
	c.eventually("one on a single node replaces all", func(*witness) error {
		return errors.Join(c.wantUpdated(program, 1), c.wantSpread(program, "", nodes[0]))
	})
	c.cordon(nodes[1], false)
	c.eventually("it ends on two", func(*witness) error {
		return errors.Join(c.wantAvailable(program), c.wantSpread(program, nodes...))
	})
}

// wantNewborn wants a node that is ready and has the taint of its birth alone.
func (n *nodeSeen) wantNewborn() error {
	if err := n.wantReady(corev1.ConditionTrue); err != nil {
		return err
	}
	if len(n.taints) != 1 || n.taints[0].Key != corev1.TaintNodeNotReady ||
		n.taints[0].Effect != corev1.TaintEffectNoSchedule {
		return fmt.Errorf("taints are %v, want not-ready:NoSchedule alone", n.taints)
	}
	return nil
}

// startSchedulerAndDeployments starts kube-scheduler, and of
// kube-controller-manager what makes pods of Deployments.
func (c *cluster) startSchedulerAndDeployments() {
	c.t.Helper()
	c.startUpstream(controlplane.KubeScheduler)
	c.startUpstream(controlplane.KubeControllerManager,
		"--controllers=deployment-controller,replicaset-controller,disruption-controller")
}

// startUpstream starts a program of Kubernetes, without leader election.
func (c *cluster) startUpstream(binary controlplane.Binary, flags ...string) *controlplane.Process {
	c.t.Helper()
	paths, err := controlplane.Build(c.t.Context(), controlplane.BuildConfig{Progress: c.t.Output()}, binary)
	require.NoError(c.t, err)
	process, err := controlplane.StartProcess(controlplane.Command{
		Path: paths[binary],
		Args: append([]string{"--kubeconfig=" + c.plane.Kubeconfig(), "--secure-port=0", "--leader-elect=false"},
			flags...),
		LogFile: filepath.Join(c.t.TempDir(), binary.Name()+".log"),
	})
	require.NoError(c.t, err)
	c.t.Cleanup(func() {
		process.Stop(5 * time.Second)
		if c.t.Failed() {
			c.t.Log(process.LogTail(20))
		}
	})
	return process
}

// enforceRestricted makes the API server refuse pods of kube-system that the
// strictest of the pod security standards does.
func (c *cluster) enforceRestricted() {
	c.t.Helper()
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	_, err := c.client.CoreV1().Namespaces().
		Patch(c.t.Context(), metav1.NamespaceSystem, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(c.t, err)
}

func (c *cluster) cordon(node string, cordoned bool) {
	c.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned)
	_, err := c.client.CoreV1().Nodes().Patch(c.t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(c.t, err)
}

// drain evicts the program's pods of a node, which its budget has to allow.
func (c *cluster) drain(node, program string) {
	c.t.Helper()
	pods, err := c.podsOf(program)
	require.NoError(c.t, err)
	for i := range pods {
		if pods[i].Spec.NodeName == node && pods[i].DeletionTimestamp == nil {
			require.NoError(c.t, c.client.CoreV1().Pods(pods[i].Namespace).
				EvictV1(c.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pods[i].Name}}))
		}
	}
}

// newStranger creates a pod that tolerates nothing and returns its name.
func (c *cluster) newStranger() string {
	c.t.Helper()
	pod, err := c.client.CoreV1().Pods(fleet.Namespace).Create(c.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "work", Image: "example.invalid/work"}}},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return pod.Name
}

// wantBound returns why the scheduler has not bound a pod.
func (c *cluster) wantBound(name string) error {
	pod, err := c.client.CoreV1().Pods(fleet.Namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil || pod.Spec.NodeName != "" {
		return err
	}
	return fmt.Errorf("pod %s is not bound: %s", name, whyUnscheduled(pod))
}

// wantKeptApart wants a replica that waits because a node has the other.
func (c *cluster) wantKeptApart(program string) error {
	pods, err := c.podsOf(program)
	if err != nil {
		return err
	}
	for i := range pods {
		if why := whyUnscheduled(&pods[i]); strings.Contains(why, "anti-affinity") {
			return nil
		}
	}
	return fmt.Errorf("no replica of %s waits for another node", program)
}

// whyUnscheduled returns what kube-scheduler says of a pod that it cannot bind.
func whyUnscheduled(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}

// update changes the template of a program's pods.
func (c *cluster) update(program string, revision int) {
	c.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"example.com/revision":"%d"}}}}}`, revision)
	_, err := c.client.AppsV1().Deployments(metav1.NamespaceSystem).
		Patch(c.t.Context(), program, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(c.t, err)
}

// wantSpread wants that each of the nodes has one of the program's pods that
// are not being deleted, and no other node has any.
func (c *cluster) wantSpread(program string, nodes ...string) error {
	pods, err := c.podsOf(program)
	if err != nil {
		return err
	}
	var on []string
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			on = append(on, pods[i].Spec.NodeName)
		}
	}
	slices.Sort(on)
	if !slices.Equal(on, nodes) {
		return fmt.Errorf("the pods of %s are on %q, want %q", program, on, nodes)
	}
	return nil
}

// wantAvailable wants that both replicas are of the newest revision and ready,
// and that one of them may be evicted, of nodelifecycle both.
func (c *cluster) wantAvailable(program string) error {
	if err := c.wantUpdated(program, 2); err != nil {
		return err
	}
	allowed := int32(1)
	if program == "nodelifecycle" {
		allowed = 3 // its starter stands in for both
	}
	budget, err := c.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceSystem).
		Get(c.t.Context(), program, metav1.GetOptions{})
	if err == nil && budget.Status.DisruptionsAllowed != allowed {
		err = fmt.Errorf("the budget of %s allows %d disruptions, want %d",
			program, budget.Status.DisruptionsAllowed, allowed)
	}
	return err
}

// wantUpdated wants two replicas of the newest revision, of which some are
// ready.
func (c *cluster) wantUpdated(program string, available int32) error {
	deployment, err := c.client.AppsV1().Deployments(metav1.NamespaceSystem).
		Get(c.t.Context(), program, metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := deployment.Status
	if status.ObservedGeneration != deployment.Generation || status.Replicas != 2 ||
		status.UpdatedReplicas != 2 || status.AvailableReplicas != available {
		return fmt.Errorf("the status of %s is %+v", program, status)
	}
	return nil
}

func (c *cluster) podsOf(program string) ([]corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(metav1.NamespaceSystem).
		List(c.t.Context(), metav1.ListOptions{LabelSelector: "app=" + program})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
