package hollownode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// staticStory is the name of the static pod that both nodes get.
const staticStory = "static"

// startKubemark starts the real kubelet.
func (c *cluster) startKubemark() *side {
	c.Helper()
	built, err := controlplane.Build(c.Context(), controlplane.BuildConfig{Progress: c.Output()}, controlplane.Kubemark)
	require.NoError(c, err)
	s := &side{name: "theirs", node: theirsNode}
	s.start = func() {
		s.process = c.launch("kubemark", built[controlplane.Kubemark], "--morph=kubelet", "--name="+theirsNode,
			"--use-host-image-service=false", "--kubelet-port="+c.port(), "--kubelet-read-only-port=0",
			fmt.Sprintf("--max-pods=%d", admittedStories))
		c.removeRoot(s.process)
	}
	s.start()
	c.eventually("kubemark has registered its node", func() string {
		return unless(c.nodeOf(theirsNode) != nil, true)
	})
	folders, err := filepath.Glob(filepath.Join(s.process.KubemarkRoot(), "static-pods*"))
	require.NoError(c, err)
	require.Len(c, folders, 1)
	s.manifests = folders[0]
	return s
}

// removeRoot removes the folder that a kubemark makes, when the test ends.
func (c *cluster) removeRoot(process *controlplane.Process) {
	c.Cleanup(func() {
		process.Kill()
		if root := process.KubemarkRoot(); root != "" {
			require.NoError(c, os.RemoveAll(root))
		}
	})
}

// startBeside starts a hollow node of the size that another one has.
func (c *cluster) startBeside(other *side) *side {
	c.Helper()
	capacity := c.nodeOf(other.node).Status.Allocatable
	var sizes []string
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods,
	} {
		sizes = append(sizes, fmt.Sprintf("%s=%s", name, capacity.Name(name, resource.DecimalSI)))
	}
	s := &side{name: "ours", node: oursNode, manifests: c.TempDir()}
	s.start = func() {
		c.startNodes("--nodes=1", "--name-prefix=ours", "--capacity="+strings.Join(sizes, ","),
			"--pod-manifest-path="+s.manifests, "--file-check-frequency=1s")
		s.process = c.fleet
	}
	s.start()
	return s
}

// taintBoth gives both nodes a taint. What they know of it shows with the first
// pod that they reject for it.
func (c *cluster) taintBoth() {
	c.Helper()
	patch := []byte(`{"spec":{"taints":[{"key":"example.com/closed","effect":"NoExecute"}]}}`)
	for _, name := range []string{oursNode, theirsNode} {
		_, err := c.client.CoreV1().Nodes().
			Patch(c.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		require.NoError(c, err)
	}
}

// runStatic has both nodes run a static pod, and end it.
func (c *cluster) runStatic(sides ...*side) {
	c.Helper()
	const manifest = `apiVersion: v1
kind: Pod
metadata: {name: ` + staticStory + `, namespace: default}
spec:
  terminationGracePeriodSeconds: 5
  containers: [{name: main, image: example.invalid/main}]
`
	for _, s := range sides {
		hidden := filepath.Join(s.manifests, ".static.yaml") // neither kubelet reads a half of it
		require.NoError(c, os.WriteFile(hidden, []byte(manifest), 0o600))
		require.NoError(c, os.Rename(hidden, filepath.Join(s.manifests, "static.yaml")))
	}
	shown := func(is func(*corev1.Pod) bool) int {
		list, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		n := 0
		for i := range list.Items {
			mirror := slices.ContainsFunc(sides, func(s *side) bool { return list.Items[i].Name == s.pod(staticStory) })
			if mirror && is(&list.Items[i]) {
				n++
			}
		}
		return n
	}
	c.eventually("a mirror shows the static pod on both", func() string { return unless(shown(isUp), len(sides)) })
	for _, s := range sides {
		require.NoError(c, os.Remove(filepath.Join(s.manifests, "static.yaml")))
	}
	c.eventually("it has ended on both", func() string {
		return unless(shown(func(*corev1.Pod) bool { return true }), 0)
	})
}

// restartBoth kills both kubelets when no container runs, and starts them when
// the pods of some stories are there.
func (c *cluster) restartBoth(stories []story, sides ...*side) {
	c.Helper()
	list, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	for i := range list.Items {
		require.True(c, isFailed(&list.Items[i]), list.Items[i].Name)
	}
	for _, s := range sides {
		s.process.Kill()
	}
	*c.killed = append(*c.killed, time.Now())
	c.createPods(stories)
	for _, s := range sides {
		s.start()
	}
	c.awaitSettled(stories)
}
