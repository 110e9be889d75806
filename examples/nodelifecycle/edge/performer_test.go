package edge_test

import (
	"context"
	"errors"
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
	"github.com/kubelife/lifecycle/nodehealth"
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
	failed error                 // of every patch
	lease  *coordinationv1.Lease // what the API server has
	unread error                 // of the read of the lease
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

func (n nodes) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*corev1.Node, error) {
	n.calls = append(n.calls, call{"patch node", "", name, kind, string(data), subresources})
	meta := metav1.ObjectMeta{Name: name, ResourceVersion: "8", Annotations: map[string]string{"large": "text"}}
	return &corev1.Node{ObjectMeta: meta}, n.failed
}

type pods struct {
	*api
	namespace string
}

func (p pods) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	p.calls = append(p.calls, call{"patch pod", p.namespace, name, kind, string(data), subresources})
	meta := metav1.ObjectMeta{Namespace: p.namespace, Name: name, ResourceVersion: "8", Annotations: map[string]string{"large": "text"}}
	return &corev1.Pod{ObjectMeta: meta}, p.failed
}

type leases struct{ *api }

func (l leases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	l.calls = append(l.calls, call{verb: "get lease", name: name})
	return l.lease, l.unread
}

var (
	node        = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u"}}
	statusPatch = controller.Patch{Type: types.StrategicMergePatchType, Data: []byte("{status}"), Subresource: "status"}
	taintsPatch = controller.Patch{Type: types.JSONPatchType, Data: []byte("[taints]")}
	readLease   = call{verb: "get lease", name: "n1"}
	declared    = call{"patch node", "", "n1", statusPatch.Type, "{status}", []string{"status"}}
	declare     = declareWith("7")
	errServer   = errors.New("the API server is not available")
)

// declareWith is the action when the controller has seen that version of the lease.
func declareWith(version string) controller.DeclareUnknown {
	return controller.DeclareUnknown{Node: node, Silent: nodehealth.NodeTask{LeaseVersion: version}, Patch: statusPatch}
}

func leaseOfVersion(version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: version}}
}

// A silent node is declared if the API server knows no more of it than the cache.
func TestSilentNodeIsDeclaredWhenItsLeaseIsTheOneThatWasSeen(t *testing.T) {
	a := &api{lease: leaseOfVersion("7")}
	result := a.performer(t).Perform(t.Context(), controller.Task{Action: declare})
	require.NoError(t, result.Err)
	require.False(t, result.Alive)
	require.Equal(t, "8", result.Node.ResourceVersion)
	require.Equal(t, []call{readLease, declared}, a.calls)
}

// H4: it is the cache that is behind.
func TestNodeWithANewerLeaseThanTheOneThatWasSeenIsAlive(t *testing.T) {
	a := &api{lease: leaseOfVersion("9")}
	require.Equal(t, controller.Result{Alive: true, Unused: 1}, a.performer(t).Perform(t.Context(), controller.Task{Action: declare}))
	require.Equal(t, []call{readLease}, a.calls, "nothing is written")
}

// The node has beaten for the first time, and our watch has not told us yet.
func TestNodeWhoseLeaseWasNotSeenYetIsAlive(t *testing.T) {
	a := &api{lease: leaseOfVersion("9")}
	require.Equal(t, controller.Result{Alive: true, Unused: 1}, a.performer(t).Perform(t.Context(), controller.Task{Action: declare}))
	require.Equal(t, []call{readLease}, a.calls, "nothing is written")
}

// No lease is no sign of life, whether or not the cache still has one.
func TestSilentNodeWithoutALeaseIsDeclared(t *testing.T) {
	for _, seen := range []string{"", "7"} {
		a := &api{unread: apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "n1")}
		result := a.performer(t).Perform(t.Context(), controller.Task{Action: declareWith(seen)})
		require.NoError(t, result.Err)
		require.NotNil(t, result.Node)
		require.Equal(t, []call{readLease, declared}, a.calls)
	}
}

// H4: a failed read means not declared, and tried again.
func TestNodeWhoseLeaseCannotBeReadIsNotDeclared(t *testing.T) {
	a := &api{unread: errServer, lease: leaseOfVersion("7")}
	result := a.performer(t).Perform(t.Context(), controller.Task{Action: declare})
	require.ErrorIs(t, result.Err, errServer)
	require.ErrorContains(t, result.Err, "read lease of silent node")
	require.False(t, result.Alive)
	require.Equal(t, []call{readLease}, a.calls, "nothing is written")
}

func TestEachWriteIsOneCall(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	onNode := call{"patch node", "", "n1", taintsPatch.Type, "[taints]", nil}
	onPod := call{"patch pod", "shop", "cart", statusPatch.Type, "{status}", []string{"status"}}
	for name, test := range map[string]struct {
		action controller.Action
		call   call
	}{
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

func TestFailedDeclarationReturnsNoNode(t *testing.T) {
	a := &api{failed: errServer, lease: leaseOfVersion("7")}
	require.Equal(t, controller.Result{Err: errServer}, a.performer(t).Perform(t.Context(), controller.Task{Action: declare}))
}

func TestEvictionIsReportedAsItCameOut(t *testing.T) {
	a := &api{}
	task := eviction.Task{Pod: eviction.Key{Namespace: "shop", Name: "cart"}}
	result := a.performer(t).Perform(t.Context(), controller.Task{Action: controller.Evict{Task: task}})
	require.Equal(t, controller.Result{Eviction: eviction.Result{Outcome: eviction.OutcomeNotDue}}, result)
	require.Equal(t, []eviction.Task{task}, a.evict)
	require.Empty(t, a.calls)
}

func TestRecordIsPassedOnIfSomebodyWantsIt(t *testing.T) {
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
