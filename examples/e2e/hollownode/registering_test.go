package hollownode

import (
	"fmt"
	"testing"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nodes register as the flags say, and reject a pod that they have no room for.
// A Node that someone else has created keeps its labels, taints and capacity.
// The faults of its annotations hold from the start.
func TestNodesRegisterAsTheFlagsSayAndOthersStayAsTheyAre(t *testing.T) {
	const shaped, registered = "shaped", 4
	c := newPlane(t)
	taint := corev1.Taint{Key: "dedicated", Value: "hollow", Effect: corev1.TaintEffectNoSchedule}
	foreign := c.addForeign(shaped, taint)
	c.startNodes(fmt.Sprintf("--nodes=%d", registered), "--zones=2", "--fleet="+shaped, "--name-prefix="+shaped,
		"--node-labels=pool=hollow,example.com/rack=r7", "--register-with-taints=dedicated=hollow:NoSchedule",
		"--capacity=cpu=8,memory=32Gi,pods=2")
	c.awaitReady(registered + 1)

	zones := map[string]int{}
	for _, node := range c.nodes() {
		if node.Name == foreign.Name {
			continue
		}
		zones[node.Labels[corev1.LabelTopologyZone]]++
		assert.Equal(t, "hollow", node.Labels["pool"], node.Name)
		assert.Equal(t, "r7", node.Labels["example.com/rack"], node.Name)
		assert.Equal(t, node.Name, node.Labels[corev1.LabelHostname])
		assert.Contains(t, node.Spec.Taints, taint, node.Name)
		wantCapacity(t, &node, "8", "32Gi", "2")
	}
	assert.Equal(t, map[string]int{"zone-1": 2, "zone-2": 2}, zones)

	joined := c.nodeOf(foreign.Name)
	assert.Equal(t, foreign.UID, joined.UID)
	assert.Equal(t, foreign.Labels, joined.Labels)
	assert.Equal(t, foreign.Spec.Taints, joined.Spec.Taints)
	assert.Equal(t, "hollownode with memory-pressure", joined.Status.NodeInfo.OSImage)
	wantCapacity(t, joined, "3", "1Gi", "1")

	for node, room := range map[string]int{shaped + "-00001": 2, foreign.Name: 1} {
		name := func(i int) string { return fmt.Sprintf("fits-%s-%d", node, i) }
		for i := range room {
			c.bind(node, name(i), nil)
		}
		c.eventually("the pods that fit run", func() string {
			running := 0
			for i := range room {
				if fleet.IsReady(c.pod(name(i))) {
					running++
				}
			}
			return unless(running, room)
		})
		c.bind(node, "more-"+node, nil)
		c.eventually("one more is rejected", func() string {
			status := c.pod("more-" + node).Status
			return unless(string(status.Phase)+" "+status.Reason, "Failed OutOfpods")
		})
	}
}

// addForeign creates a Node that joins a fleet.
func (c *cluster) addForeign(fleet string, taint corev1.Taint) *corev1.Node {
	c.Helper()
	has := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		corev1.ResourcePods: resource.MustParse("1"),
	}
	nodes := c.client.CoreV1().Nodes()
	node, err := nodes.Create(c.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "foreign", Labels: map[string]string{domain + "fleet": fleet, "pool": "own"},
			Annotations: map[string]string{domain + "memory-pressure": ""},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{taint}},
		Status: corev1.NodeStatus{Capacity: has, Allocatable: has},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return node
}

func wantCapacity(t *testing.T, node *corev1.Node, cpu, memory, pods string) {
	t.Helper()
	for _, has := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
		assert.Equal(t, []string{cpu, memory, pods},
			[]string{has.Cpu().String(), has.Memory().String(), has.Pods().String()}, node.Name)
	}
}
