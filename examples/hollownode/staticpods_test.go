package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

const proxyManifest = `# Runs everywhere.
apiVersion: v1
kind: Pod
metadata:
  name: proxy
spec:
  hostNetwork: true
  containers:
  - name: main
    image: example.invalid/proxy:1
`

// write makes a file and returns its path.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestManifestsAreReadFromAFileOrAFolder(t *testing.T) {
	folder := t.TempDir()
	path := write(t, folder, "b.yaml", proxyManifest)
	write(t, folder, "a.json", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "first"},
		"spec": {"containers": [{"name": "main", "image": "i"}]}}`)
	write(t, folder, "c.yaml", "---\n# nothing\n---\n"+`{apiVersion: v1, kind: Pod, metadata: {name: third},
  spec: {containers: [{name: main, image: i}]}}`)
	write(t, folder, ".hidden", "no pod")
	pods, err := readStaticPods(folder)
	require.NoError(t, err)
	require.Len(t, pods, 3)
	for i, name := range []string{"first", "proxy", "third"} {
		assert.Equal(t, name, pods[i].Name)
	}
	assert.True(t, pods[1].Spec.HostNetwork)
	one, err := readStaticPods(path)
	require.NoError(t, err)
	assert.Equal(t, pods[1:2], one)
	empty, err := readStaticPods(t.TempDir())
	require.NoError(t, err)
	assert.Empty(t, empty)
}

// The program reads the manifests again. What is wrong then changes nothing.
func TestManifestsAreFollowed(t *testing.T) {
	folder := t.TempDir()
	path := write(t, folder, "proxy.yaml", proxyManifest)
	synctest.Test(t, func(t *testing.T) {
		var s settings
		require.NoError(t, command(&s).FlagSet().Parse([]string{"--nodes=1", "--pod-manifest-path=" + folder}))
		require.NoError(t, check(&s))
		cluster := memory.NewCluster()
		ctx, cancel := context.WithCancel(t.Context())
		f, err := newFleet(ctx, &s, process.Clients{Acting: cluster.NewClient(), Watching: cluster.NewClient()},
			prometheus.NewRegistry(), nil)
		require.NoError(t, err)
		ready := make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() { f.Observe(ctx, func() { close(ready) }) })
		running.Go(func() {
			<-ready
			assert.NoError(t, f.Act(ctx))
		})
		mirrors := func() map[string]corev1.PodPhase {
			pods, err := cluster.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			phases := map[string]corev1.PodPhase{}
			for i := range pods.Items {
				phases[pods.Items[i].Name] = pods.Items[i].Status.Phase
			}
			return phases
		}
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		wait(time.Second)
		require.Equal(t, map[string]corev1.PodPhase{"proxy-hollow-00001": corev1.PodRunning}, mirrors())

		write(t, folder, "more.yaml", strings.ReplaceAll(proxyManifest, "name: proxy", "name: more"))
		require.NoError(t, os.Remove(path))
		write(t, folder, "wrong.yaml", "kind: Pod")
		wait(20 * time.Second)
		require.Equal(t, map[string]corev1.PodPhase{"proxy-hollow-00001": corev1.PodRunning}, mirrors())
		require.NoError(t, os.Remove(filepath.Join(folder, "wrong.yaml")))
		wait(20 * time.Second)
		require.Equal(t, map[string]corev1.PodPhase{"more-hollow-00001": corev1.PodRunning}, mirrors())
		cancel()
		running.Wait()
	})
}

func TestAWrongManifestIsNamedWithItsFileAndLine(t *testing.T) {
	folder := t.TempDir()
	for says, text := range map[string]string{
		":1: unknown field \"spec.hostnetwork\"": `apiVersion: v1
kind: Pod
metadata:
  name: proxy
spec:
  containers: [{name: main, image: i}]
  hostnetwork: true
`,
		":1: unknown field \"spec.containers[1].imagee\"": `apiVersion: v1
kind: Pod
metadata:
  name: proxy
spec:
  containers:
  - {name: main, image: i}
  - name: other
    imagee: i
`,
		":4: metadata.name is \"Proxy\", want the name of a pod": "---\n# of a node\n---\n" +
			"{apiVersion: v1, kind: Pod,\nmetadata:\n{name: Proxy}, spec: {containers: [{name: a, image: b}]}}",
		":2: it is a ConfigMap, want a Pod of v1": "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		": yaml: line 2: ":                        "apiVersion: v1\nkind: [\n",
		": there is no pod":                       "# nothing\n",
		":1: Object 'Kind' is missing":            "a: b",
	} {
		t.Run(says, func(t *testing.T) {
			path := write(t, folder, "wrong.yaml", text)
			for _, place := range []string{path, folder} {
				_, err := readStaticPods(place)
				require.ErrorContains(t, err, path+says)
			}
		})
	}
	write(t, folder, "wrong.yaml", proxyManifest)
	write(t, folder, "again.yaml", proxyManifest)
	_, err := readStaticPods(folder)
	require.ErrorContains(t, err, folder+": static pod 1: default/proxy is there twice")
	nested := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(nested, "more"), 0o700))
	_, err = readStaticPods(nested)
	require.ErrorContains(t, err, filepath.Join(nested, "more")+": not a file")
	long := filepath.Join(t.TempDir(), "long.yaml")
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, longestManifest+1))
	_, err = readStaticPods(long)
	require.ErrorContains(t, err, "at most 10485760")
	_, err = readStaticPods(filepath.Join(folder, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
