package hollownode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// staticManifest is the manifest of a static pod.
const staticManifest = `apiVersion: v1
kind: Pod
metadata: {name: static, namespace: default}
spec:
  containers: [{name: main, image: example.invalid/main}]
`

// The API server takes the events of pods that come, go, pass their deadlines
// and are rejected, in the order in which they are told.
func TestEventsOfPodsOnARealAPIServer(t *testing.T) {
	c := newPlane(t)
	manifest := filepath.Join(c.programs, "static.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(staticManifest), 0o600))
	c.startNodes("--nodes=1", "--name-prefix=ours", "--capacity=pods=3", "--pod-manifest-path="+manifest)
	c.awaitReady(1)
	c.wantEvents("static-"+oursNode, "Pulled Created Started")
	c.bind(oursNode, "plain", nil)
	c.wantEvents("plain", "Pulled Created Started")
	c.bindUntil(oursNode, "deadline", 4)
	c.wantEvents("deadline", "Pulled Created Started DeadlineExceeded Killing")
	c.bind(oursNode, "other", nil)
	c.wantEvents("other", "Pulled Created Started")
	c.bind(oursNode, "overflow", nil)
	c.wantEvents("overflow", "OutOfpods")
	require.NoError(t, c.client.CoreV1().Pods(metav1.NamespaceDefault).
		Delete(t.Context(), "plain", metav1.DeleteOptions{}))
	c.wantEvents("plain", "Pulled Created Started Killing")
}

// bindUntil creates a pod with a deadline on a node.
func (c *cluster) bindUntil(node, name string, seconds int64) {
	c.Helper()
	spec := template(name, nil).Spec
	spec.NodeName, spec.ActiveDeadlineSeconds = node, &seconds
	_, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Create(c.Context(),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(c, err)
}

// wantEvents waits until the API server has the events of a pod. Whether a pod
// finds its image on the node depends on which of them was first, so its pull
// does not count.
func (c *cluster) wantEvents(pod, reasons string) {
	c.Helper()
	c.eventually(pod+" has its events", func() string { return unless(c.reasonsOf(pod), reasons) })
}

// reasonsOf returns those of a pod's events. Their names end with when they
// were told.
func (c *cluster) reasonsOf(pod string) string {
	c.Helper()
	list, err := c.client.CoreV1().Events(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.kind": "Pod", "involvedObject.name": pod}.String(),
	})
	require.NoError(c, err)
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return strings.Compare(a.Name, b.Name) })
	var reasons []string
	for i := range list.Items {
		e := &list.Items[i]
		require.Equal(c, corev1.EventSource{Component: "kubelet", Host: oursNode}, e.Source)
		if e.Reason != "Pulling" {
			reasons = append(reasons, e.Reason)
		}
	}
	return strings.Join(reasons, " ")
}
