package controller_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
)

// Objects come out of a decoder, so that each has strings of its own, and go
// through the program's transform. What that drops is left out from the start.

// protobuf is what the API server sends objects as.
type protobuf interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// decoded returns an object as an informer's store gets it.
func decoded[T protobuf](w *whole, object, into T) T {
	data, err := object.Marshal()
	require.NoError(w.b, err)
	require.NoError(w.b, into.Unmarshal(data))
	trimmed, err := edge.Trim(into)
	require.NoError(w.b, err)
	return trimmed.(T)
}

func zoneOf(i int) int { return i % wholeZones }

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16, i>>8&255, i&255)
}

func uid(i int, kind string) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012s", i, kind))
}

func (w *whole) newNode(i int) *corev1.Node {
	name, at := nodeName(i), metav1.NewTime(w.now.Add(-time.Hour))
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: uid(i, "a0de"), CreationTimestamp: at,
			Labels: map[string]string{
				"beta.kubernetes.io/arch":          "amd64",
				"beta.kubernetes.io/instance-type": "m7i.4xlarge",
				"beta.kubernetes.io/os":            "linux",
				"kubernetes.io/arch":               "amd64",
				"kubernetes.io/hostname":           name,
				"kubernetes.io/os":                 "linux",
				"node.kubernetes.io/instance-type": "m7i.4xlarge",
				"node-pool.example.com/name":       fmt.Sprintf("pool-%d", i%50),
				"topology.kubernetes.io/region":    "eu-central-1",
				"topology.kubernetes.io/zone":      fmt.Sprintf("eu-central-1%c", 'a'+zoneOf(i)),
			},
		},
	}
	w.stamp(&node.ObjectMeta)
	for _, c := range [...]struct {
		kind            corev1.NodeConditionType
		status          corev1.ConditionStatus
		reason, message string
	}{
		{corev1.NodeNetworkUnavailable, corev1.ConditionFalse, "CalicoIsUp", "Calico is running on this node"},
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory",
			"kubelet has sufficient memory available"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"},
	} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: c.kind, Status: c.status, Reason: c.reason, Message: c.message,
			LastHeartbeatTime: at, LastTransitionTime: at,
		})
	}
	return decoded(w, node, &corev1.Node{})
}

func (w *whole) newLease(i int) *coordinationv1.Lease {
	name, renewed := nodeName(i), metav1.NewMicroTime(w.now)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: corev1.NamespaceNodeLease, Name: name, UID: uid(i, "1ea5e"),
			CreationTimestamp: metav1.NewTime(w.now.Add(-time.Hour)),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: uid(i, "a0de")}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: ptr.To(int32(40)), RenewTime: &renewed},
	}
	w.stamp(&lease.ObjectMeta)
	return decoded(w, lease, &coordinationv1.Lease{})
}

// newPod returns a pod. Of ten on a node two are those of DaemonSets, which
// stay whatever happens, and the others have the tolerations that admission
// adds, if shorter.
func (w *whole) newPod(i int) *corev1.Pod {
	at := metav1.NewTime(w.now.Add(-time.Hour))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%03d", i%997), Name: fmt.Sprintf("backend-7c6d8f9b5d-%07x", i), UID: uid(i, "90d"),
			CreationTimestamp: at, Generation: 1,
		},
		Spec:   corev1.PodSpec{NodeName: nodeName(i / podsOfNode), Priority: ptr.To(int32(0))},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	w.stamp(&pod.ObjectMeta)
	tolerate := func(key string, effect corev1.TaintEffect, seconds *int64) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: effect, TolerationSeconds: seconds,
		})
	}
	if i%podsOfNode < 2 {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: uid(0, "d5"), Controller: ptr.To(true),
		}}
		tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute, nil)
		tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute, nil)
		for _, key := range [...]string{
			corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure,
			corev1.TaintNodeUnschedulable,
		} {
			tolerate(key, corev1.TaintEffectNoSchedule, nil)
		}
	} else {
		tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute, ptr.To(int64(60)))
		tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute, ptr.To(int64(60)))
	}
	for _, kind := range [...]corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at, ObservedGeneration: 1,
		})
	}
	return decoded(w, pod, &corev1.Pod{})
}

// create makes the cluster, in the stores of the informers.
func (w *whole) create() {
	for i := range wholeNodes {
		w.nodeOf = append(w.nodeOf, w.newNode(i))
		w.leaseOf = append(w.leaseOf, w.newLease(i))
		require.NoError(w.b, w.nodes.Add(w.nodeOf[i]))
		require.NoError(w.b, w.leases.Add(w.leaseOf[i]))
	}
	for i := range wholeNodes * podsOfNode {
		w.podOf = append(w.podOf, w.newPod(i))
		require.NoError(w.b, w.pods.Add(w.podOf[i]))
	}
}

// fill shows all objects to the controller, as informers do that have listed
// them, and makes it lead.
func (w *whole) fill() {
	for i := range w.nodeOf {
		w.turn("first node", func() { w.feeds.Nodes.OnAdd(w.nodeOf[i], true) })
		w.turn("first lease", func() { w.feeds.Leases.OnAdd(w.leaseOf[i], true) })
	}
	for _, pod := range w.podOf {
		if pod != nil {
			w.turn("first pod", func() { w.feeds.Pods.OnAdd(pod, true) })
		}
	}
	w.turn("MarkSynced", func() { w.c.MarkSynced(w.now) })
	w.turn("Lead", func() { w.c.Lead(w.now) })
	w.poll()
}

// decodes returns how long it takes to decode leases.
func (w *whole) decodes(leases []*coordinationv1.Lease) time.Duration {
	encoded := make([][]byte, len(leases))
	for i, lease := range leases {
		data, err := lease.Marshal()
		require.NoError(w.b, err)
		encoded[i] = data
	}
	began := threadTime(w.b)
	for _, data := range encoded {
		require.NoError(w.b, new(coordinationv1.Lease).Unmarshal(data))
	}
	return threadTime(w.b) - began
}
