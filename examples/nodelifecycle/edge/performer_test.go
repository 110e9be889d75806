package edge_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
)

// The typed clients of client-go fit as they are.
var _ = func(client kubernetes.Interface) edge.PerformerConfig {
	return edge.PerformerConfig{
		Nodes:  client.CoreV1().Nodes(),
		Pods:   func(namespace string) edge.Pods { return client.CoreV1().Pods(namespace) },
		Leases: client.CoordinationV1().Leases(corev1.NamespaceNodeLease),
	}
}

// api answers a performer and notes what it was asked.
type api struct {
	calls  []call
	failed error                   // of every patch, and every read of a node or pod
	leases []*coordinationv1.Lease // what the API server has
	unread error                   // of a read of leases
	evict  []eviction.Task
	wrote  []any
	told   []controller.Record

	evicted eviction.Result // of each eviction
}

type call struct {
	verb, namespace, name string
	kind                  types.PatchType
	data                  string
	subresources          []string
}

func (a *api) performer(t *testing.T) *edge.Performer {
	t.Helper()
	p, err := edge.NewPerformer(a.config())
	require.NoError(t, err)
	return p
}

func (a *api) config() edge.PerformerConfig {
	return edge.PerformerConfig{
		Nodes:  nodes{a},
		Pods:   func(namespace string) edge.Pods { return pods{a, namespace} },
		Leases: leases{a},
		Evict: func(_ context.Context, task eviction.Task) eviction.Result {
			a.evict = append(a.evict, task)
			return a.evicted
		},
		Record:    func(event controller.Record) { a.told = append(a.told, event) },
		WroteNode: func(node *corev1.Node) { a.wrote = append(a.wrote, node) },
		WrotePod:  func(pod *corev1.Pod) { a.wrote = append(a.wrote, pod) },
	}
}

type nodes struct{ *api }

func (n nodes) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	n.calls = append(n.calls, call{verb: "get node", name: name})
	meta := metav1.ObjectMeta{Name: name, ResourceVersion: "8", Annotations: map[string]string{"large": "text"}}
	return &corev1.Node{ObjectMeta: meta}, n.failed
}

func (n nodes) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions,
	subresources ...string) (*corev1.Node, error) {
	n.calls = append(n.calls, call{"patch node", "", name, kind, string(data), subresources})
	meta := metav1.ObjectMeta{Name: name, ResourceVersion: "8", Annotations: map[string]string{"large": "text"}}
	return &corev1.Node{ObjectMeta: meta}, n.failed
}

type pods struct {
	*api
	namespace string
}

func (p pods) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions,
	subresources ...string) (*corev1.Pod, error) {
	p.calls = append(p.calls, call{"patch pod", p.namespace, name, kind, string(data), subresources})
	meta := metav1.ObjectMeta{Namespace: p.namespace, Name: name, ResourceVersion: "8",
		Annotations: map[string]string{"large": "text"}}
	return &corev1.Pod{ObjectMeta: meta}, p.failed
}

func (p pods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	p.calls = append(p.calls, call{verb: "get pod", namespace: p.namespace, name: name})
	meta := metav1.ObjectMeta{Namespace: p.namespace, Name: name, ResourceVersion: "8",
		Annotations: map[string]string{"large": "text"}}
	return &corev1.Pod{ObjectMeta: meta}, p.failed
}

type leases struct{ *api }

func (l leases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	l.calls = append(l.calls, call{verb: "get lease", name: name})
	for _, lease := range l.api.leases {
		if lease.Name == name && l.unread == nil {
			return lease, nil
		}
	}
	return nil, l.unread
}

func (l leases) List(context.Context, metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	l.calls = append(l.calls, call{verb: "list leases"})
	list := &coordinationv1.LeaseList{}
	for _, lease := range l.api.leases {
		list.Items = append(list.Items, *lease)
	}
	return list, l.unread
}

var (
	node        = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u"}}
	pod         = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	statusPatch = controller.Patch{Type: types.StrategicMergePatchType, Data: []byte("{status}"), Subresource: "status"}
	taintsPatch = controller.Patch{Type: types.JSONPatchType, Data: []byte("[taints]")}
	readLease   = call{verb: "get lease", name: "n1"}
	listLeases  = call{verb: "list leases"}
	declared    = call{"patch node", "", "n1", statusPatch.Type, "{status}", []string{"status"}}
	patched     = call{"patch node", "", "n1", taintsPatch.Type, "[taints]", nil}
	ofOne       = controller.LeaseRead{Node: node}
	ofAll       = controller.LeaseRead{}
	errServer   = errors.New("the API server is not available")
)

func leaseOfVersion(name, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

// H4: whether a node is silent is decided by what the API server has, with one
// request for one lease or for all.
func TestLeasesAreReadFromTheAPIServer(t *testing.T) {
	a := &api{leases: []*coordinationv1.Lease{leaseOfVersion("n1", "7"), leaseOfVersion("n2", "9")}}
	p := a.performer(t)
	require.Equal(t, controller.Leases{Versions: map[string]string{"n1": "7"}}, p.ReadLeases(t.Context(), ofOne))
	require.Equal(t, controller.Leases{Versions: map[string]string{"n1": "7", "n2": "9"}},
		p.ReadLeases(t.Context(), ofAll))
	require.Equal(t, []call{readLease, listLeases}, a.calls)
}

// No lease is an answer: it is no sign of life.
func TestThatThereIsNoLeaseIsAnAnswer(t *testing.T) {
	a := &api{unread: apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "n1")}
	p := a.performer(t)
	none := controller.Leases{Versions: map[string]string{}}
	require.Equal(t, none, p.ReadLeases(t.Context(), ofOne))
	a.unread = nil
	require.Equal(t, none, p.ReadLeases(t.Context(), ofAll))
}

// H4, hostile seed 630: a proxy's 404 decides nothing.
func TestThatAProxyKnowsNoLeaseIsAnError(t *testing.T) {
	foreign := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{Resource: "leases"},
		"n1", "page not found", 0, true)
	a := &api{unread: foreign}
	leases := a.performer(t).ReadLeases(t.Context(), ofOne)
	require.ErrorIs(t, leases.Err, foreign)
	require.Nil(t, leases.Versions)
}

// H4: a failed read decides nothing.
func TestAReadThatFailsIsAnError(t *testing.T) {
	a := &api{unread: errServer}
	for _, read := range []controller.LeaseRead{ofOne, ofAll} {
		leases := a.performer(t).ReadLeases(t.Context(), read)
		require.ErrorIs(t, leases.Err, errServer)
		require.ErrorContains(t, leases.Err, "of silent node")
		require.Nil(t, leases.Versions)
	}
}

// nodeTasks and podTasks are the tasks about a node and a pod, with their one
// call.
var (
	nodeTasks = map[string]struct {
		do   func(context.Context, *edge.Performer) controller.Result[*corev1.Node]
		call call
	}{
		"declaration": {func(ctx context.Context, p *edge.Performer) controller.Result[*corev1.Node] {
			return p.Declare(ctx, controller.Declaration{Node: node, Patch: statusPatch})
		}, declared},
		"taints": {change(controller.NodeActionTaint, taintsPatch), patched},
		"labels": {change(controller.NodeActionLabel, taintsPatch), patched},
		"read":   {change(controller.NodeActionRead, controller.Patch{}), call{verb: "get node", name: "n1"}},
	}
	podTasks = map[string]struct {
		mark controller.PodMark
		call call
	}{
		"not ready": {
			controller.PodMark{Action: controller.PodActionMark, Pod: pod, Patch: statusPatch},
			call{"patch pod", "shop", "cart", statusPatch.Type, "{status}", []string{"status"}},
		},
		"read": {
			controller.PodMark{Action: controller.PodActionRead, Pod: pod},
			call{verb: "get pod", namespace: "shop", name: "cart"},
		},
	}
)

func change(action controller.NodeAction, patch controller.Patch,
) func(context.Context, *edge.Performer) controller.Result[*corev1.Node] {
	return func(ctx context.Context, p *edge.Performer) controller.Result[*corev1.Node] {
		return p.ChangeNode(ctx, controller.NodeChange{Action: action, Node: node, Patch: patch})
	}
}

// What the API server returns, which is also what a write was refused for, is as
// the cache would have it, and reaches the controller first.
func TestEachTaskOfANodeIsOneCall(t *testing.T) {
	for name, test := range nodeTasks {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			result := test.do(t.Context(), a.performer(t))
			require.NoError(t, result.Err)
			require.Equal(t, []call{test.call}, a.calls)
			require.Equal(t, "8", result.Object.ResourceVersion)
			require.Empty(t, result.Object.Annotations, "trimmed like what the cache has")
			require.Equal(t, []any{result.Object}, a.wrote)

			a = &api{failed: apierrors.NewNotFound(schema.GroupResource{}, "n1")}
			result = test.do(t.Context(), a.performer(t))
			require.True(t, eviction.SaysGone(result.Err))
			require.Equal(t, name == "read", strings.HasPrefix(result.Err.Error(), "read node after a refused write: "))
			require.Nil(t, result.Object, "no object when it failed")
			require.Empty(t, a.wrote)
			require.Len(t, a.calls, 1, "trying again is the controller's business")
		})
	}
}

func TestEachTaskOfAPodIsOneCall(t *testing.T) {
	for name, test := range podTasks {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			result := a.performer(t).MarkPod(t.Context(), test.mark)
			require.NoError(t, result.Err)
			require.Equal(t, []call{test.call}, a.calls)
			require.Equal(t, "8", result.Object.ResourceVersion)
			require.Empty(t, result.Object.Annotations, "trimmed like what the cache has")
			require.Equal(t, []any{result.Object}, a.wrote)

			a = &api{failed: apierrors.NewNotFound(schema.GroupResource{}, "n1")}
			result = a.performer(t).MarkPod(t.Context(), test.mark)
			require.True(t, eviction.SaysGone(result.Err))
			require.Equal(t, name == "read", strings.HasPrefix(result.Err.Error(), "read pod after a refused write: "))
			require.Nil(t, result.Object, "no object when it failed")
			require.Empty(t, a.wrote)
			require.Len(t, a.calls, 1, "trying again is the controller's business")
		})
	}
}

func TestEvictionIsReportedAsItCameOut(t *testing.T) {
	a := &api{evicted: eviction.Result{Outcome: eviction.OutcomeNotDue}}
	task := eviction.Task{Pod: eviction.Key{Namespace: "shop", Name: "cart"}}
	require.Equal(t, a.evicted, a.performer(t).Evict(t.Context(), task))
	require.Equal(t, []eviction.Task{task}, a.evict)
	require.Empty(t, a.calls)
	require.Empty(t, a.wrote)

	marked := pod.DeepCopy()
	marked.Annotations = map[string]string{"large": "text"}
	a.evicted = eviction.Result{Outcome: eviction.OutcomeFailed, Err: errServer, Pod: marked}
	result := a.performer(t).Evict(t.Context(), task)
	require.Equal(t, errServer, result.Err)
	require.Empty(t, result.Pod.Annotations, "trimmed like what the cache has")
	require.Equal(t, []any{result.Pod}, a.wrote, "also when the eviction failed after that write")
}

func TestRecordIsPassedOnIfItIsWanted(t *testing.T) {
	a := &api{}
	event := controller.Record{Type: corev1.EventTypeNormal, Reason: "RegisteredNode"}
	a.performer(t).Record(t.Context(), event)
	require.Equal(t, []controller.Record{event}, a.told)

	config := a.config()
	config.Record = nil
	deaf, err := edge.NewPerformer(config)
	require.NoError(t, err)
	deaf.Record(t.Context(), event)
	require.Len(t, a.told, 1)
	require.Empty(t, a.calls)
}

func TestPerformerNamesWhatIsMissing(t *testing.T) {
	for field, remove := range map[string]func(*edge.PerformerConfig){
		"Nodes":  func(c *edge.PerformerConfig) { c.Nodes = nil },
		"Pods":   func(c *edge.PerformerConfig) { c.Pods = nil },
		"Leases": func(c *edge.PerformerConfig) { c.Leases = nil },
		"Evict":  func(c *edge.PerformerConfig) { c.Evict = nil },
	} {
		config := (&api{}).config()
		remove(&config)
		_, err := edge.NewPerformer(config)
		require.ErrorIs(t, err, edge.ErrInvalidConfig)
		require.ErrorContains(t, err, "PerformerConfig."+field+" is nil")
	}
}
