package evicting_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/process/evicting"
)

// The typed clients of client-go fit as they are.
var _ = func(client kubernetes.Interface) evicting.Clients {
	return evicting.Clients{
		Pods:  func(namespace string) eviction.EvictionClient { return client.CoreV1().Pods(namespace) },
		Nodes: client.CoreV1().Nodes(),
	}
}

// api notes what it was asked.
type api struct {
	calls     []string
	conflicts bool // what makes a pod leave is refused, because the pod has changed
}

func (a *api) refusal() error {
	if !a.conflicts {
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "cart", errors.New("modified"))
}

func (a *api) clients() evicting.Clients {
	return evicting.Clients{
		Pods:  func(string) eviction.EvictionClient { return pods{a} },
		Nodes: nodes{a},
	}
}

type pods struct{ *api }

func (p pods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	p.calls = append(p.calls, "get pod")
	return podOn("n1", "shop", name), nil
}

func (p pods) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions,
	_ ...string) (*corev1.Pod, error) {
	p.calls = append(p.calls, "patch")
	return podOn("n1", "shop", name), nil
}

func (p pods) Delete(context.Context, string, metav1.DeleteOptions) error {
	p.calls = append(p.calls, "delete")
	return p.refusal()
}

func (p pods) EvictV1(context.Context, *policyv1.Eviction) error {
	p.calls = append(p.calls, "evict")
	return p.refusal()
}

type nodes struct{ *api }

func (n nodes) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	n.calls = append(n.calls, "get node")
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}},
	}, nil
}

// Which calls are made for a pod that has been due for some time.
func TestActionIsThatOfTheFlags(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		due   time.Duration
		calls []string
	}{
		"default":           {nil, 0, []string{"patch", "delete"}},
		"delete":            {[]string{"--action=delete"}, 0, []string{"patch", "delete"}},
		"delete, confirmed": {[]string{"--confirm"}, 0, []string{"get pod", "get node", "patch", "delete"}},
		"evict":             {[]string{"--action=evict"}, 2 * time.Hour, []string{"evict"}},
		"evict, confirmed":  {[]string{"--action=evict", "--confirm"}, 0, []string{"get pod", "get node", "evict"}},
		"evict first":       {[]string{"--action=evict-then-delete"}, 29 * time.Minute, []string{"evict"}},
		"then delete":       {[]string{"--action=evict-then-delete"}, 30 * time.Minute, []string{"patch", "delete"}},
		"delete sooner": {[]string{"--action=evict-then-delete", "--evict-for=1m"}, time.Minute,
			[]string{"patch", "delete"}},
		"dry run":            {[]string{"--action=dry-run"}, 0, nil},
		"dry run, confirmed": {[]string{"--action=dry-run", "--confirm"}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			o := parsed(t, test.flags...)
			act, err := o.NewAction(a.clients())
			require.NoError(t, err)
			task, ok := tracked(t, o.Config(), podOn("n1", "shop", "cart")).Start(start.Add(test.due))
			require.True(t, ok)
			outcome := eviction.OutcomeEvicted
			if o.Action == evicting.DryRun {
				outcome = eviction.OutcomeDryRun
			}
			result := act(t.Context(), task)
			require.Equal(t, outcome, result.Outcome)
			require.Equal(t, test.calls, a.calls)
			require.Equal(t, o.Requests()-len(test.calls), result.Unspent(o.Requests()))
		})
	}
}

// C1: a pod that changes all the time costs no more requests than its task has
// tokens.
func TestActionSendsNoMoreThanItsRequests(t *testing.T) {
	for _, flags := range [][]string{
		nil, {"--confirm"}, {"--action=evict"}, {"--action=evict", "--confirm"},
		{"--action=evict-then-delete"}, {"--action=evict-then-delete", "--confirm"},
	} {
		for _, due := range []time.Duration{0, time.Hour} {
			a := &api{conflicts: true}
			o := parsed(t, flags...)
			act, err := o.NewAction(a.clients())
			require.NoError(t, err)
			task, ok := tracked(t, o.Config(), podOn("n1", "shop", "cart")).Start(start.Add(due))
			require.True(t, ok)
			result := act(t.Context(), task)
			require.Equal(t, eviction.OutcomeFailed, result.Outcome)
			require.LessOrEqual(t, len(a.calls), o.Requests(), "%v: %v", flags, a.calls)
			require.Equal(t, o.Requests()-len(a.calls), result.Unspent(o.Requests()))
		}
	}
}

func TestNewActionNamesTheClientThatIsMissing(t *testing.T) {
	for says, test := range map[string]struct {
		flags  []string
		remove func(*evicting.Clients)
	}{
		"Pods is nil":  {nil, func(c *evicting.Clients) { c.Pods = nil }},
		"Nodes is nil": {[]string{"--confirm"}, func(c *evicting.Clients) { c.Nodes = nil }},
	} {
		clients := new(api).clients()
		test.remove(&clients)
		_, err := parsed(t, test.flags...).NewAction(clients)
		require.ErrorIs(t, err, evicting.ErrInvalidClients)
		require.ErrorContains(t, err, says)
	}
	clients := new(api).clients()
	clients.Nodes = nil
	_, err := parsed(t).NewAction(clients)
	require.NoError(t, err, "what is not needed may be missing")
}
