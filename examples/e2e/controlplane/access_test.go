package controlplane

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func testUserRights(t *testing.T, cp *ControlPlane) {
	config, err := cp.UserConfig("alice", "node-readers")
	if err != nil {
		t.Fatal(err)
	}
	refused(t, config)
	grantReadingNodes(t, cp, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "node-readers"})
	allowed(t, config)
	if _, err := cp.UserConfig(""); err == nil {
		t.Error("a user without a name got access")
	}
}

func testServiceAccountRights(t *testing.T, cp *ControlPlane) {
	admin := clientFor(t, cp.RESTConfig())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := cp.ServiceAccountConfig(t.Context(), metav1.NamespaceDefault, account.Name); !apierrors.IsNotFound(err) {
		t.Errorf("an account that does not exist: %v, want not found", err)
	}
	if _, err := admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault).
		Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := cp.ServiceAccountConfig(t.Context(), metav1.NamespaceDefault, account.Name)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, config)
	grantReadingNodes(t, cp,
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: account.Name})
	allowed(t, config)

	// The same through a file, as a program gets it.
	path, err := cp.WriteKubeconfig(config)
	if err != nil {
		t.Fatal(err)
	}
	allowed(t, fromFile(t, path))
}

func testKubeconfig(t *testing.T, cp *ControlPlane) {
	config := fromFile(t, cp.Kubeconfig())
	config.UserAgent = "from-file"
	if _, err := clientFor(t, config).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	requests, err := cp.Requests(t.Context(), Filter{UserAgent: "from-file"})
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != 1 || requests[0].Verb != "list" || requests[0].User != adminUser {
		t.Errorf("got %+v, want one list by %s", requests, adminUser)
	}
}

func fromFile(t *testing.T, path string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// refused and allowed try what grantReadingNodes grants.
func refused(t *testing.T, config *rest.Config) {
	t.Helper()
	if err := listNodes(t, clientFor(t, config)); !apierrors.IsForbidden(err) {
		t.Errorf("before anything is granted: %v, want forbidden", err)
	}
}

func allowed(t *testing.T, config *rest.Config) {
	t.Helper()
	client := clientFor(t, config)
	// The authorizer learns of a new binding through its watch.
	eventually(t, "nodes may be listed", func() bool { return listNodes(t, client) == nil })
	if _, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("what was not granted: %v, want forbidden", err)
	}
}

func listNodes(t *testing.T, client kubernetes.Interface) error {
	_, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	return err
}

func grantReadingNodes(t *testing.T, cp *ControlPlane, to rbacv1.Subject) {
	t.Helper()
	rbac := clientFor(t, cp.RESTConfig()).RbacV1()
	name := metav1.ObjectMeta{Name: "read-nodes-" + to.Name}
	role := &rbacv1.ClusterRole{ObjectMeta: name,
		Rules: []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"nodes"}}}}
	if _, err := rbac.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: name,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects:   []rbacv1.Subject{to},
	}
	if _, err := rbac.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
