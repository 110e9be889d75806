package edge_test

import (
	"context"
	"errors"
	"net/http"
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
	told   []controller.Record
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
			return eviction.Result{Outcome: eviction.OutcomeNotDue}
		},
		Record: func(event controller.Record) { a.told = append(a.told, event) },
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
	statusPatch = controller.Patch{Type: types.StrategicMergePatchType, Data: []byte("{status}"), Subresource: "status"}
	taintsPatch = controller.Patch{Type: types.JSONPatchType, Data: []byte("[taints]")}
	readLease   = call{verb: "get lease", name: "n1"}
	listLeases  = call{verb: "list leases"}
	declared    = call{"patch node", "", "n1", statusPatch.Type, "{status}", []string{"status"}}
	declare     = controller.DeclareUnknown{Node: node, Patch: statusPatch}
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
	require.Equal(t, controller.Result{Leases: map[string]string{"n1": "7"}},
		p.Perform(t.Context(), controller.Task{Action: controller.ReadLease{Node: node}}))
	require.Equal(t, controller.Result{Leases: map[string]string{"n1": "7", "n2": "9"}},
		p.Perform(t.Context(), controller.Task{Action: controller.ListLeases{}}))
	require.Equal(t, []call{readLease, listLeases}, a.calls)
}

// No lease is an answer: it is no sign of life.
func TestThatThereIsNoLeaseIsAnAnswer(t *testing.T) {
	a := &api{unread: apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "n1")}
	p := a.performer(t)
	require.Equal(t, controller.Result{Leases: map[string]string{}},
		p.Perform(t.Context(), controller.Task{Action: controller.ReadLease{Node: node}}))
	a.unread = nil
	require.Equal(t, controller.Result{Leases: map[string]string{}},
		p.Perform(t.Context(), controller.Task{Action: controller.ListLeases{}}))
}

// H4, hostile seed 630: a proxy's 404 decides nothing.
func TestThatAProxyKnowsNoLeaseIsAnError(t *testing.T) {
	foreign := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{Resource: "leases"},
		"n1", "page not found", 0, true)
	a := &api{unread: foreign}
	result := a.performer(t).Perform(t.Context(), controller.Task{Action: controller.ReadLease{Node: node}})
	require.ErrorIs(t, result.Err, foreign)
	require.Nil(t, result.Leases)
}

// H4: a failed read decides nothing.
func TestAReadThatFailsIsAnError(t *testing.T) {
	a := &api{unread: errServer}
	for _, action := range []controller.Action{controller.ReadLease{Node: node}, controller.ListLeases{}} {
		result := a.performer(t).Perform(t.Context(), controller.Task{Action: action})
		require.ErrorIs(t, result.Err, errServer)
		require.ErrorContains(t, result.Err, "of silent node")
		require.Nil(t, result.Leases)
	}
}

func TestEachWriteIsOneCall(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	onNode := call{"patch node", "", "n1", taintsPatch.Type, "[taints]", nil}
	onPod := call{"patch pod", "shop", "cart", statusPatch.Type, "{status}", []string{"status"}}
	for name, test := range map[string]struct {
		action controller.Action
		call   call
	}{
		"declaration":   {declare, declared},
		"taints":        {controller.PatchTaints{Node: node, Patch: taintsPatch}, onNode},
		"labels":        {controller.PatchLabels{Node: node, Patch: taintsPatch}, onNode},
		"pod not ready": {controller.MarkPodNotReady{Pod: pod, Patch: statusPatch}, onPod},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			result := a.performer(t).Perform(t.Context(), controller.Task{Action: test.action})
			require.NoError(t, result.Err)
			require.Equal(t, []call{test.call}, a.calls)
			require.Equal(t, test.call.namespace == "", result.Node != nil)
			require.Equal(t, test.call.namespace != "", result.Pod != nil)
			if result.Node != nil {
				require.Equal(t, "8", result.Node.ResourceVersion)
				require.Empty(t, result.Node.Annotations, "trimmed like what the cache has")
			} else {
				require.Equal(t, "8", result.Pod.ResourceVersion)
				require.Empty(t, result.Pod.Annotations, "trimmed like what the cache has")
			}

			a = &api{failed: errServer}
			result = a.performer(t).Perform(t.Context(), controller.Task{Action: test.action})
			require.Equal(t, controller.Result{Err: errServer}, result, "no object when it failed")
			require.Len(t, a.calls, 1, "trying again is the controller's business")
		})
	}
}

// What a write was refused for is read as the cache would have it.
func TestWhatAWriteWasRefusedForIsRead(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	gone := apierrors.NewNotFound(schema.GroupResource{}, "n1")
	for name, test := range map[string]struct {
		action controller.Action
		call   call
	}{
		"node": {controller.ReadNode{Node: node}, call{verb: "get node", name: "n1"}},
		"pod":  {controller.ReadPod{Pod: pod}, call{verb: "get pod", namespace: "shop", name: "cart"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			result := a.performer(t).Perform(t.Context(), controller.Task{Action: test.action})
			require.NoError(t, result.Err)
			require.Equal(t, []call{test.call}, a.calls)
			if name == "node" {
				require.Equal(t, "8", result.Node.ResourceVersion)
				require.Empty(t, result.Node.Annotations, "trimmed like what the cache has")
			} else {
				require.Equal(t, "8", result.Pod.ResourceVersion)
				require.Empty(t, result.Pod.Annotations, "trimmed like what the cache has")
			}

			a = &api{failed: gone}
			result = a.performer(t).Perform(t.Context(), controller.Task{Action: test.action})
			require.ErrorContains(t, result.Err, "read "+name+" after a refused write: ")
			require.True(t, eviction.SaysGone(result.Err))
			require.Nil(t, result.Node)
			require.Nil(t, result.Pod)
		})
	}
}

func TestEvictionIsReportedAsItCameOut(t *testing.T) {
	a := &api{}
	task := eviction.Task{Pod: eviction.Key{Namespace: "shop", Name: "cart"}}
	result := a.performer(t).Perform(t.Context(), controller.Task{Action: controller.Evict{Task: task}})
	require.Equal(t, controller.Result{Eviction: eviction.Result{Outcome: eviction.OutcomeNotDue}}, result)
	require.Equal(t, []eviction.Task{task}, a.evict)
	require.Empty(t, a.calls)
}

func TestRecordIsPassedOnIfItIsWanted(t *testing.T) {
	a := &api{}
	event := controller.Record{Type: corev1.EventTypeNormal, Reason: "RegisteredNode"}
	require.Equal(t, controller.Result{}, a.performer(t).Perform(t.Context(), controller.Task{Action: event}))
	require.Equal(t, []controller.Record{event}, a.told)

	config := a.config()
	config.Record = nil
	deaf, err := edge.NewPerformer(config)
	require.NoError(t, err)
	require.Equal(t, controller.Result{}, deaf.Perform(t.Context(), controller.Task{Action: event}))
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
