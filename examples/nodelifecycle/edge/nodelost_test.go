package edge_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process/evicting"
)

// lostPod is a pod as the API server has it, on a node with a taint.
type lostPod struct {
	calls    []string
	patches  []string // as they came
	refusal  error    // of every delete
	tolerant bool     // it tolerates the taint
}

func (p *lostPod) object() *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "u"},
		Spec:       corev1.PodSpec{NodeName: "n1"},
	}
	if p.tolerant {
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	return pod
}

func (p *lostPod) Get(context.Context, string, metav1.GetOptions) (*corev1.Pod, error) {
	p.calls = append(p.calls, "get pod")
	return p.object(), nil
}

func (p *lostPod) Patch(_ context.Context, _ string, kind types.PatchType, data []byte, _ metav1.PatchOptions,
	subresources ...string) (*corev1.Pod, error) {
	p.calls = append(p.calls, "patch")
	if kind != types.StrategicMergePatchType || len(subresources) != 1 || subresources[0] != "status" {
		return nil, errors.New("it is no patch of the status")
	}
	p.patches = append(p.patches, string(data))
	return p.object(), nil
}

func (p *lostPod) Delete(context.Context, string, metav1.DeleteOptions) error {
	p.calls = append(p.calls, "delete")
	return p.refusal
}

func (p *lostPod) EvictV1(context.Context, *policyv1.Eviction) error {
	p.calls = append(p.calls, "evict")
	return p.refusal
}

// lostNode is the node of a lostPod.
type lostNode struct{ *lostPod }

func (n lostNode) Get(context.Context, string, metav1.GetOptions) (*corev1.Node, error) {
	n.calls = append(n.calls, "get node")
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}},
	}, nil
}

// act does what the flags say about the pod an hour after all pods had to leave
// its node. It returns the result, and how many requests the task had.
func (p *lostPod) act(t *testing.T, marked bool, args ...string) (eviction.Result, int) {
	t.Helper()
	var o evicting.Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	require.NoError(t, flags.Parse(args))
	act, err := o.NewAction(evicting.Clients{
		Pods:  func(string) eviction.EvictionClient { return p },
		Nodes: lostNode{p}, NewDeletion: edge.NewDeletion,
	})
	require.NoError(t, err)
	start := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	tracker, err := eviction.NewTracker(o.Config(), start)
	require.NoError(t, err)
	node, err := lostNode{new(lostPod)}.Get(t.Context(), "n1", metav1.GetOptions{})
	require.NoError(t, err)
	tracker.ObserveNode(start, node)
	tracker.ObservePod(start, p.object())
	tracker.MarkSynced()
	tracker.EvictNode(start, "n1", eviction.NodeRequest{Reason: "it is not ready"})
	task, ok := tracker.Start(start.Add(time.Hour))
	require.True(t, ok)
	task.HasDisruptionTarget = marked
	return act(t.Context(), task), o.Requests()
}

// E9: the pods of a node that is evicted say NodeLost before they are deleted,
// with the patch that announces that, guarded by the UID. Those that leave for a
// taint do not, nor those that the Eviction API evicts.
func TestE9PodsOfAnEvictedNodeSayNodeLost(t *testing.T) {
	const (
		lost = `{"metadata":{"uid":"u"},"status":{` +
			`"conditions":[{"lastTransitionTime":"2031-02-03T05:05:06Z",` +
			`"message":"All pods are evicted from node n1, which is not ready.","reason":"DeletionByNodeLifecycle",` +
			`"status":"True","type":"DisruptionTarget"}],` +
			`"message":"Node n1 which was running pod cart is unresponsive","reason":"NodeLost"}}`
		tainted = `{"metadata":{"uid":"u"},"status":{` +
			`"conditions":[{"lastTransitionTime":"2031-02-03T05:05:06Z",` +
			`"message":"Taint manager: deleting due to NoExecute taint k:NoExecute","reason":"DeletionByTaintManager",` +
			`"status":"True","type":"DisruptionTarget"}]}}`
	)
	for name, test := range map[string]struct {
		flags      []string
		intolerant bool
		calls      []string
		patch      string
	}{
		"delete":            {nil, false, []string{"patch", "delete"}, lost},
		"for a taint":       {nil, true, []string{"patch", "delete"}, tainted},
		"delete, confirmed": {[]string{"--confirm"}, false, []string{"get pod", "get node", "patch", "delete"}, lost},
		"then delete":       {[]string{"--action=evict-then-delete"}, false, []string{"patch", "delete"}, lost},
		"evict":             {[]string{"--action=evict"}, false, []string{"evict"}, ""},
		"dry run":           {[]string{"--action=dry-run"}, false, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &lostPod{tolerant: !test.intolerant}
			result, granted := p.act(t, false, test.flags...)
			require.NoError(t, result.Err)
			require.Equal(t, test.calls, p.calls)
			require.Equal(t, granted-len(test.calls), result.Unspent(granted))
			if test.patch == "" {
				require.Empty(t, p.patches)
				return
			}
			require.Len(t, p.patches, 1)
			require.JSONEq(t, test.patch, p.patches[0])
		})
	}
}

// A pod that is marked already, by an attempt that failed or by another client,
// is not marked again.
func TestAMarkedPodOfAnEvictedNodeIsOnlyDeleted(t *testing.T) {
	p := &lostPod{tolerant: true, refusal: errors.New("no")}
	result, granted := p.act(t, true)
	require.ErrorIs(t, result.Err, p.refusal)
	require.Equal(t, []string{"delete"}, p.calls)
	require.Equal(t, granted-1, result.Unspent(granted))
}
