package bench

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// imagesPerNode is how many images a kubelet lists by default. They make up
// most of a node object.
const imagesPerNode = 50

var images = func() []corev1.ContainerImage {
	all := make([]corev1.ContainerImage, imagesPerNode)
	for i := range all {
		all[i] = corev1.ContainerImage{
			Names: []string{
				fmt.Sprintf("registry.example/some/application-%d@sha256:%064x", i, i),
				fmt.Sprintf("registry.example/some/application-%d:v1.%d", i, i),
			},
			SizeBytes: int64(i+1) << 20,
		}
	}
	return all
}()

// readyNode is a node that a kubelet has registered: ready, untainted, with all
// that upstream's controller wants to see.
func readyNode(name string) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1",
			CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour)),
			Labels: map[string]string{
				corev1.LabelOSStable: "linux", "beta.kubernetes.io/os": "linux",
				corev1.LabelArchStable: "amd64", "beta.kubernetes.io/arch": "amd64",
				corev1.LabelHostname:       name,
				corev1.LabelTopologyRegion: "region",
				corev1.LabelTopologyZone:   "zone-0",
			},
		},
		Status: corev1.NodeStatus{Images: images},
	}
	for _, condition := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse},
		{corev1.NodeDiskPressure, corev1.ConditionFalse},
		{corev1.NodePIDPressure, corev1.ConditionFalse},
		{corev1.NodeReady, corev1.ConditionTrue},
	} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: condition.kind, Status: condition.status, Reason: "AsReported", Message: "as the kubelet reports it",
			LastHeartbeatTime: metav1.NewTime(epoch), LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
		})
	}
	return node
}

// zones is how many zones the nodes are in.
const zones = 10

// A cluster is nodes that are all well.
type cluster struct {
	nodes   []*corev1.Node
	leases  []*coordinationv1.Lease
	periods int
}

func newCluster(size int) *cluster {
	c := &cluster{}
	for i, name := range names("node-", size) {
		node := readyNode(name)
		node.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%zones)
		c.nodes = append(c.nodes, node)
		c.leases = append(c.leases, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease, ResourceVersion: "1"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new(name), LeaseDurationSeconds: new(int32(40)), RenewTime: new(metav1.NewMicroTime(epoch)),
			},
		})
	}
	return c
}

const (
	// monitorPeriod is the default of --node-monitor-period.
	monitorPeriod = 5 * time.Second
	// A kubelet renews its lease every 10 s, and reports a status that has not
	// changed every 5 min.
	periodsPerRenewal, periodsPerReport = 2, 60
)

// beat makes the heartbeats of the next monitor period and returns the objects
// that they have changed. The objects are new, as those of an informer are.
func (c *cluster) beat() (leases []*coordinationv1.Lease, nodes []*corev1.Node) {
	c.periods++
	at := epoch.Add(time.Duration(c.periods) * monitorPeriod)
	version := strconv.Itoa(c.periods + 1)
	for i := c.periods % periodsPerRenewal; i < len(c.leases); i += periodsPerRenewal {
		renewed := *c.leases[i]
		renewed.ResourceVersion = version
		renewed.Spec.RenewTime = new(metav1.NewMicroTime(at))
		c.leases[i] = &renewed
		leases = append(leases, &renewed)
	}
	for i := c.periods % periodsPerReport; i < len(c.nodes); i += periodsPerReport {
		reported := *c.nodes[i]
		reported.ResourceVersion = version
		reported.Status.Conditions = slices.Clone(reported.Status.Conditions)
		for k := range reported.Status.Conditions {
			reported.Status.Conditions[k].LastHeartbeatTime = metav1.NewTime(at)
		}
		c.nodes[i] = &reported
		nodes = append(nodes, &reported)
	}
	return leases, nodes
}
