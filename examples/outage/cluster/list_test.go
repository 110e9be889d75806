package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/kubelife/lifecycle/examples/outage/cluster"
)

// shopClient has the shop on an API server.
func shopClient(t *testing.T) *fake.Clientset {
	t.Helper()
	var objects []runtime.Object
	o := shop()
	for i := range o.Nodes {
		objects = append(objects, &o.Nodes[i])
	}
	for i := range o.Leases {
		objects = append(objects, &o.Leases[i])
	}
	for i := range o.Pods {
		objects = append(objects, &o.Pods[i])
	}
	for i := range o.ReplicaSets {
		objects = append(objects, &o.ReplicaSets[i])
	}
	for i := range o.Deployments {
		objects = append(objects, &o.Deployments[i])
	}
	return fake.NewClientset(objects...)
}

// The role has the rights for what is asked, and no others.
func TestListAsksForWhatTheRoleAllows(t *testing.T) {
	client := shopClient(t)
	o, err := cluster.List(t.Context(), client, nil)
	require.NoError(t, err)
	want, wantNotes := imported(t, shop(), cluster.Config{})
	got, notes := imported(t, o, cluster.Config{})
	require.Equal(t, want, got)
	require.Equal(t, wantNotes, notes)

	text, err := os.ReadFile("clusterrole.yaml")
	require.NoError(t, err)
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(text, &role))
	var granted, used []string
	for _, rule := range role.Rules {
		require.Equal(t, []string{"list"}, rule.Verbs)
		for _, resource := range rule.Resources {
			granted = append(granted, schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}.String())
		}
	}
	for _, action := range client.Actions() {
		require.Equal(t, "list", action.GetVerb())
		require.Empty(t, action.GetNamespace())
		used = append(used, action.GetResource().GroupResource().String())
	}
	require.ElementsMatch(t, granted, used)
}

func TestARightThatIsMissingIsNamed(t *testing.T) {
	client := shopClient(t)
	for _, resource := range []string{"leases", "poddisruptionbudgets"} {
		client.PrependReactor("list", resource, func(action ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", errors.New("no"))
		})
	}
	_, err := cluster.List(t.Context(), client, nil)
	require.ErrorContains(t, err, "missing right: list on leases.coordination.k8s.io in all namespaces; "+
		"outage/cluster/clusterrole.yaml has all that are needed")
	require.ErrorContains(t, err, "missing right: list on poddisruptionbudgets.policy in all namespaces")
	require.NotContains(t, err.Error(), "list on pods")
}

// An API server that does not answer costs one wait, not one for each kind.
func TestListEndsWithTheFirstFailure(t *testing.T) {
	client := shopClient(t)
	client.PrependReactor("list", "leases", func(action ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", errors.New("no"))
	})
	client.PrependReactor("list", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	_, err := cluster.List(t.Context(), client, nil)
	require.ErrorContains(t, err, "missing right: list on leases.coordination.k8s.io", "what is known is said")
	require.ErrorContains(t, err, "list pods: connection refused")
	require.Len(t, client.Actions(), 3)
}

// A list comes in pages. One whose continuation expires begins again, and
// nothing is there twice.
func TestListGoesOnPageByPage(t *testing.T) {
	client, calls, all := shopClient(t), []metav1.ListOptions{}, shop().Pods
	client.PrependReactor("list", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
		options := action.(ktesting.ListActionImpl).ListOptions
		calls = append(calls, options)
		switch len(calls) {
		case 1, 2:
			from := 2 * (len(calls) - 1)
			rest := int64(len(all) - from - 2)
			return true, &corev1.PodList{
				ListMeta: metav1.ListMeta{Continue: "more", RemainingItemCount: &rest}, Items: all[from : from+2],
			}, nil
		case 3:
			return true, nil, apierrors.NewResourceExpired("the continuation is too old")
		}
		return true, &corev1.PodList{Items: all}, nil
	})
	var shown []string
	o, err := cluster.List(t.Context(), client, func(resource string, listed, of int) {
		shown = append(shown, fmt.Sprint(resource, " ", listed, " of ", of))
	})
	require.NoError(t, err)
	require.Len(t, o.Pods, len(all))
	require.Equal(t, []string{"nodes 0 of 0", "leases.coordination.k8s.io 0 of 0", "pods 0 of 0", "pods 2 of 10",
		"pods 4 of 10", "pods 0 of 10", "poddisruptionbudgets.policy 0 of 0"}, shown[:7])
	require.Len(t, calls, 4)
	require.Positive(t, calls[0].Limit)
	require.Equal(t, "more", calls[1].Continue)
	require.Zero(t, calls[3].Limit)
}
