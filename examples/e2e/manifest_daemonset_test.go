package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// The same of daemonset: it creates, rolls out and adopts, and finds names
// taken.
func TestManifestOfDaemonsetGivesTheLeastRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 2})
	c.applyManifest("daemonset")
	running := c.launchDeployed("daemonset")
	standby := c.launchStandby("daemonset")
	nodes := c.fleet.Nodes("a")

	agent := c.addSet("agent", nil)
	c.eventually("each node has a pod", c.wantRolledOut("agent", 2))
	orphan := []byte(`[{"op":"remove","path":"/metadata/ownerReferences"}]`)
	_, err := c.client.CoreV1().Pods(agent.Namespace).
		Patch(t.Context(), c.daemonsOf("agent")[0].Name, types.JSONPatchType, orphan, metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = c.client.AppsV1().ControllerRevisions(agent.Namespace).
		Patch(t.Context(), c.revisionOf("agent").Name, types.JSONPatchType, orphan, metav1.PatchOptions{})
	require.NoError(t, err)
	c.eventually("orphans are adopted", func(*witness) error {
		if len(c.daemonsOf("agent")) != 2 || c.revisionOf("agent") == nil {
			return errors.New("not yet")
		}
		return nil
	})

	// The name of the next revision is taken, and the one before is deleted. The
	// program tells the name: it is of its version of Kubernetes.
	rollOut := func(image string) {
		_, err := c.client.AppsV1().DaemonSets(agent.Namespace).Patch(t.Context(), "agent",
			types.StrategicMergePatchType, fmt.Appendf(nil,
				`{"spec":{"template":{"spec":{"containers":[{"name":"agent","image":%q}]}}}}`, image), metav1.PatchOptions{})
		require.NoError(t, err)
		c.eventually(image+" is rolled out", c.wantRolledOut("agent", 2))
	}
	rollOut("example.invalid/agent:2")
	taken := c.revisionOf("agent").Name
	rollOut("example.invalid/agent:1")
	_, err = c.client.AppsV1().ControllerRevisions(agent.Namespace).
		Create(t.Context(), &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: taken},
			Data:       runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		}, metav1.CreateOptions{})
	require.NoError(t, err)
	rollOut("example.invalid/agent:2")

	// The name of the first pod of a set is taken.
	c.addSet("late", map[string]string{"late": "yes"})
	c.eventually("another set has its revision", c.wantRolledOut("late", 0))
	late := c.daemonSet("late")
	hash := c.revisionOf("late").Labels[revision.HashLabel]
	spec := rollout.SpecOf(late, hash)
	pod, err := rollout.NewPod(rollout.OwnerOf(late), &spec, rollout.Creation{Node: nodes[0], Revision: hash})
	require.NoError(t, err)
	pod.OwnerReferences, pod.Labels = nil, nil
	_, err = c.client.CoreV1().Pods(late.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.client.CoreV1().Nodes().Patch(t.Context(), nodes[0], types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"late":"yes"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	c.eventually("the node gets a pod of another name", c.wantRolledOut("late", 1))

	c.haltTwice("daemonset")
	c.readPages(running, "daemonset", "/metrics", "/daemonsets")
	c.stop(standby)
	c.stop(running)
	c.wantLeastRights("daemonset")
}

// addSet creates a DaemonSet that keeps no old revision.
func (c *cluster) addSet(name string, selector map[string]string) *appsv1.DaemonSet {
	chosen := map[string]string{"app": name}
	set, err := c.client.AppsV1().DaemonSets(metav1.NamespaceDefault).Create(c.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector:             &metav1.LabelSelector{MatchLabels: chosen},
			RevisionHistoryLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: chosen},
				Spec: corev1.PodSpec{
					NodeSelector: selector,
					// Nodes are born with a taint, which no controller here removes.
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers:  []corev1.Container{{Name: "agent", Image: "example.invalid/agent:1"}},
				},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return set
}

func (c *cluster) daemonSet(name string) *appsv1.DaemonSet {
	set, err := c.client.AppsV1().DaemonSets(metav1.NamespaceDefault).Get(c.t.Context(), name, metav1.GetOptions{})
	require.NoError(c.t, err)
	return set
}

// daemonsOf returns the pods that a set controls.
func (c *cluster) daemonsOf(set string) []corev1.Pod {
	list, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if metav1.IsControlledBy(&pod, c.daemonSet(set)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// revisionOf returns the only revision that a set controls, or nil.
func (c *cluster) revisionOf(set string) *appsv1.ControllerRevision {
	list, err := c.client.AppsV1().ControllerRevisions(metav1.NamespaceDefault).
		List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	var found *appsv1.ControllerRevision
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, set+"-") && metav1.IsControlledBy(&list.Items[i], c.daemonSet(set)) {
			if found != nil {
				return nil
			}
			found = &list.Items[i]
		}
	}
	return found
}

// wantRolledOut wants that so many nodes have a pod of the current revision,
// which is the only one. No kubelet makes pods ready here.
func (c *cluster) wantRolledOut(name string, nodes int32) func(*witness) error {
	return func(*witness) error {
		set := c.daemonSet(name)
		s := set.Status
		if s.ObservedGeneration < set.Generation || s.DesiredNumberScheduled != nodes ||
			s.UpdatedNumberScheduled != nodes || c.revisionOf(name) == nil {
			return fmt.Errorf("generation %d, status %+v", set.Generation, s)
		}
		return nil
	}
}

// TestManifestOfDaemonsetStartsAClusterWithoutANetwork: the nodes have the
// taints of a cluster in which neither a network plugin runs nor a cloud
// controller manager. The program is bound to them, and gives them the pods of
// the plugin.
func TestManifestOfDaemonsetStartsAClusterWithoutANetwork(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 2})
	nodes := c.fleet.Nodes("a")
	c.patchNodes(nodes, `{"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"},
		{"key":"node.kubernetes.io/network-unavailable","effect":"NoSchedule"},
		{"key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true","effect":"NoSchedule"}]}}`)
	c.startSchedulerAndDeployments()
	stranger := c.newStranger()
	c.applyManifest("daemonset")
	c.wantMemoryFits("daemonset", 2)
	c.eventually("the replicas are on two nodes", func(*witness) error { return c.wantSpread("daemonset", nodes...) })
	c.eventually("they run", func(*witness) error { return c.wantAvailable("daemonset") })
	require.ErrorContains(t, c.wantBound(stranger), "untolerated taint")

	c.launchDeployed("daemonset")
	c.addSet("network", nil)
	c.eventually("each node has a pod of the network plugin", func(*witness) error {
		pods := c.daemonsOf("network")
		if len(pods) != len(nodes) {
			return fmt.Errorf("%d pods", len(pods))
		}
		return errors.Join(c.wantBound(pods[0].Name), c.wantBound(pods[1].Name))
	})
	c.openNodes(nodes)
	c.eventually("other pods start", func(*witness) error { return c.wantBound(stranger) })
	c.wantUpdatesEnd("daemonset", nodes)
}
