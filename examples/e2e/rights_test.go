package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// A right is one verb on one resource that a role grants. An empty namespace or
// name is all.
type right struct {
	namespace, group, resource, name, verb string
}

func (r right) String() string {
	return fmt.Sprintf("%s %s.%s %s/%s", r.verb, r.resource, r.group, r.namespace, r.name)
}

// permits reports whether the request needs no other right.
func (r right) permits(request controlplane.Request) bool {
	resource := request.Resource
	if request.Subresource != "" {
		resource += "/" + request.Subresource
	}
	return r.verb == request.Verb && r.group == request.Group && r.resource == resource &&
		(r.namespace == "" || r.namespace == request.Namespace) && (r.name == "" || r.name == request.Name)
}

// wantLeastRights wants that no request of a program was forbidden, and that
// the program used each right that its account has.
func (c *cluster) wantLeastRights(program string) {
	c.t.Helper()
	user := "system:serviceaccount:" + metav1.NamespaceSystem + ":" + program
	requests, err := c.plane.Requests(context.Background(), controlplane.Filter{User: user})
	require.NoError(c.t, err)
	for _, r := range requests {
		require.NotContains(c.t, []int{http.StatusUnauthorized, http.StatusForbidden}, r.Code,
			"%s: %s %s/%s %s", program, r.Verb, r.Resource, r.Subresource, r.Object())
	}
	rights := c.rights(program)
	require.Greater(c.t, len(rights), 10, "the roles were found")
	for _, r := range rights {
		if !slices.ContainsFunc(requests, r.permits) {
			c.t.Errorf("%s has a right that it does not use: %s", program, r)
		}
	}
	c.t.Logf("%s used all of its %d rights in %d requests", program, len(rights), len(requests))
}

// rights returns what the roles bound to a program's account grant, by what the
// API server has stored.
func (c *cluster) rights(program string) []right {
	c.t.Helper()
	ctx, client := c.t.Context(), c.client.RbacV1()
	bound := func(subjects []rbacv1.Subject) bool {
		return slices.Contains(subjects,
			rbacv1.Subject{Kind: "ServiceAccount", Name: program, Namespace: metav1.NamespaceSystem})
	}
	var rights []right
	cluster, err := client.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	require.NoError(c.t, err)
	for _, binding := range cluster.Items {
		if bound(binding.Subjects) {
			role, err := client.ClusterRoles().Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
			require.NoError(c.t, err)
			rights = append(rights, c.expand("", role.Rules)...)
		}
	}
	local, err := client.RoleBindings("").List(ctx, metav1.ListOptions{})
	require.NoError(c.t, err)
	for _, binding := range local.Items {
		if bound(binding.Subjects) {
			require.Equal(c.t, "Role", binding.RoleRef.Kind)
			role, err := client.Roles(binding.Namespace).Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
			require.NoError(c.t, err)
			rights = append(rights, c.expand(binding.Namespace, role.Rules)...)
		}
	}
	return rights
}

// expand returns each right of the rules alone. One that names everything is an
// error.
func (c *cluster) expand(namespace string, rules []rbacv1.PolicyRule) []right {
	c.t.Helper()
	var rights []right
	for _, rule := range rules {
		require.Empty(c.t, rule.NonResourceURLs)
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					require.NotContains(c.t, []string{group, resource, verb}, "*")
					for _, name := range names {
						rights = append(rights, right{namespace, group, resource, name, verb})
					}
				}
			}
		}
	}
	return rights
}
