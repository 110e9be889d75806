package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The same of hollownode: its nodes register, one finds its name taken, a
// static pod has a mirror, and a pod comes and goes.
func TestManifestOfHollownodeGivesTheLeastRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 1})
	const taken, node, name = "hollow-00001", "hollow-00002", "short"
	_, err := c.client.CoreV1().Nodes().
		Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: taken}}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.applyManifest("hollownode")
	static := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(static, []byte(`{apiVersion: v1, kind: Pod, metadata: {name: agent},
		spec: {containers: [{name: main, image: example.invalid/agent}]}}`), 0o600))
	running := c.launchDeployed("hollownode", "--pod-manifest-path="+static)
	standby := c.launchStandby("hollownode")
	c.eventually("a hollow node is ready", func(w *witness) error {
		return w.each([]string{node}, func(n *nodeSeen) error { return n.wantReady("True") })
	})

	pods := c.client.CoreV1().Pods(metav1.NamespaceDefault)
	_, err = pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "example.invalid/main"}},
			TerminationGracePeriodSeconds: new(int64(1)),
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	runs := func(name string) func(*witness) error {
		return func(*witness) error {
			pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			if err == nil && pod.Status.Phase != corev1.PodRunning {
				err = fmt.Errorf("it is %s", pod.Status.Phase)
			}
			return err
		}
	}
	c.eventually("its pod runs", runs(name))
	c.eventually("its static pod is shown", runs("agent-"+node))
	require.NoError(t, pods.Delete(t.Context(), name, metav1.DeleteOptions{}))
	c.eventually("its pod is gone", func(*witness) error {
		_, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("not yet"))
	})

	c.haltTwice("hollownode")
	c.readPages(running, "hollownode", "/metrics")
	c.stop(standby)
	c.stop(running)
	c.wantLeastRights("hollownode")
}
