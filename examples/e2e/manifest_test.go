package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestManifestGivesTheRightsThatAreNeeded runs the controller as the manifest's
// service account through an outage.
func TestManifestGivesTheRightsThatAreNeeded(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 6}, fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(ptr.To[int64](1))})
	c.applyManifest("../nodelifecycle/manifest.yaml")
	account, err := c.plane.ServiceAccountConfig(t.Context(), metav1.NamespaceSystem, "nodelifecycle")
	require.NoError(t, err)
	kubeconfig, err := c.plane.WriteKubeconfig(account)
	require.NoError(t, err)
	running := c.launch(kubeconfig, "--confirm")
	c.eventually("the controller is ready", func(*witness) error { return running.answers("/readyz") })
	settle(t)

	failed := c.fleet.Nodes("a")[:1]
	c.fleet.Cut(failed...)
	c.eventually("its pod is evicted", wantEvicted(fleet.PodName("web", failed[0])))
	c.fleet.Restore(failed...)
	c.eventually("it is healthy again", func(w *witness) error { return w.each(failed, (*nodeSeen).wantHealthy) })
	c.stop(running)

	requests, err := c.plane.Requests(context.Background(), controlplane.Filter{User: "system:serviceaccount:kube-system:nodelifecycle"})
	require.NoError(t, err)
	require.NotEmpty(t, requests)
	for _, r := range requests {
		require.NotEqual(t, 403, r.Code, "forbidden: %s %s/%s %s", r.Verb, r.Resource, r.Subresource, r.Object())
	}
}

// applyManifest creates what the manifest says about rights.
func (c *cluster) applyManifest(path string) {
	c.t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(c.t, err)
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	buffer := make([]byte, 1<<20)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(c.t, err)
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(buffer[:n], nil, nil)
		require.NoError(c.t, err)
		require.NoError(c.t, c.create(object))
	}
}

func (c *cluster) create(object runtime.Object) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var err error
	switch object := object.(type) {
	case *corev1.ServiceAccount:
		_, err = c.client.CoreV1().ServiceAccounts(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
	case *rbacv1.ClusterRole:
		_, err = c.client.RbacV1().ClusterRoles().Create(ctx, object, metav1.CreateOptions{})
	case *rbacv1.ClusterRoleBinding:
		_, err = c.client.RbacV1().ClusterRoleBindings().Create(ctx, object, metav1.CreateOptions{})
	case *rbacv1.Role:
		_, err = c.client.RbacV1().Roles(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
	case *rbacv1.RoleBinding:
		_, err = c.client.RbacV1().RoleBindings(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
	default: // the Deployment is only checked
		_, err = c.client.AppsV1().Deployments(metav1.NamespaceSystem).Create(ctx, mustDeployment(object), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	return err
}
