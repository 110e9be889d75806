package daemonset

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
)

// patience is how long anything may take on a machine that is busy otherwise.
const patience = 2 * time.Minute

// cluster is an API server with hollow nodes and the witness of their pods.
type cluster struct {
	*testing.T
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	witness *witness
}

func newCluster(t *testing.T, nodes int) *cluster {
	c := &cluster{T: t, plane: controlplane.ForTest(t, controlplane.Config{})}
	c.client = c.user("tester", nil)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range nodes {
		group.Go(func() error { return c.addNode(ctx, fmt.Sprintf("node-%03d", i)) })
	}
	require.NoError(t, group.Wait())
	c.witness = runNodes(t, c.user("nodes", nil))
	return c
}

// user returns the client of a user that may do everything.
func (c *cluster) user(name string, change func(*rest.Config)) kubernetes.Interface {
	config, err := c.plane.UserConfig(name, "system:masters")
	require.NoError(c, err)
	config = sidebyside.Protobuf(config)
	if change != nil {
		change(config)
	}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(c, err)
	return client
}

func (c *cluster) addNode(ctx context.Context, name string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelOSStable: "linux", runner.Label: fleet}}}
	if _, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	// Admission taints what is new as not ready. No controller here would take
	// that away.
	untainted := []byte(`{"spec":{"taints":null}}`)
	if _, err := c.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, untainted,
		metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("untaint node %s: %w", name, err)
	}
	return nil
}

// addSet creates a DaemonSet. What its template holds is such that the bytes of
// its revision are not those of the simplest one.
func (c *cluster) addSet(name string, maxUnavailable int) {
	unavailable := intstr.FromInt(maxUnavailable)
	chosen := map[string]string{"app": name}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"owner": "<platform> & friends"}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: chosen, Annotations: map[string]string{"note": "a < b && c > d"}},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
					Containers: []corev1.Container{{
						Name: "agent", Image: "example.invalid/agent:1",
						Env: []corev1.EnvVar{
							{Name: "NODE",
								ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}},
						Ports: []corev1.ContainerPort{{ContainerPort: 9100}},
					}},
				},
			},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &unavailable},
			},
		},
	}
	_, err := c.client.AppsV1().DaemonSets(metav1.NamespaceDefault).Create(c.Context(), set, metav1.CreateOptions{})
	require.NoError(c, err)
}

func (c *cluster) setImage(name, image string) {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"agent","image":%q}]}}}}`, image)
	_, err := c.client.AppsV1().DaemonSets(metav1.NamespaceDefault).
		Patch(c.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(c, err)
}

func (c *cluster) daemonSet(name string) *appsv1.DaemonSet {
	set, err := c.client.AppsV1().DaemonSets(metav1.NamespaceDefault).Get(c.Context(), name, metav1.GetOptions{})
	require.NoError(c, err)
	return set
}

func (c *cluster) revisions() []appsv1.ControllerRevision {
	list, err := c.client.AppsV1().ControllerRevisions(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	return list.Items
}

// rolledOut waits until the status says what kubectl rollout status waits for,
// of so many nodes.
func (c *cluster) rolledOut(name string, nodes int) {
	c.Helper()
	c.eventually("rolled out", func() error {
		set := c.daemonSet(name)
		s := set.Status
		n := int32(nodes)
		if s.ObservedGeneration < set.Generation || s.DesiredNumberScheduled != n || s.UpdatedNumberScheduled != n ||
			s.NumberAvailable != n {
			return fmt.Errorf("generation %d, status %+v", set.Generation, s)
		}
		return nil
	})
}

func (c *cluster) eventually(what string, ask func() error) {
	c.Helper()
	began := time.Now()
	for {
		err := ask()
		if err == nil {
			c.Logf("%6.1fs  %s", time.Since(began).Seconds(), what)
			return
		}
		if time.Since(began) > patience {
			c.Fatalf("after %v not yet: %s: %v", patience, what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// uids returns the pod of each node.
func (c *cluster) uids() map[string]types.UID {
	living, err := c.witness.living()
	require.NoError(c, err)
	uids := map[string]types.UID{}
	for node, pod := range living {
		uids[node] = pod.UID
	}
	return uids
}

// startUpstream starts kube-controller-manager's DaemonSet controller.
func (c *cluster) startUpstream() (stop func()) {
	built, err := controlplane.Build(c.Context(), controlplane.BuildConfig{Progress: c.Output()},
		controlplane.KubeControllerManager)
	require.NoError(c, err)
	config, err := c.plane.UserConfig("upstream", "system:masters")
	require.NoError(c, err)
	kubeconfig, err := c.plane.WriteKubeconfig(config)
	require.NoError(c, err)
	process, err := controlplane.StartProcess(controlplane.Command{
		Path:    built[controlplane.KubeControllerManager],
		LogFile: filepath.Join(c.plane.Dir(), fmt.Sprintf("upstream-%d.log", time.Now().UnixNano())),
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--controllers=daemonset-controller", "--leader-elect=false", "--secure-port=0",
			"--kube-api-qps=1000", "--kube-api-burst=1000", "--v=2",
		},
	})
	require.NoError(c, err)
	c.Cleanup(process.Kill)
	return process.Kill
}

// writes returns how many calls a user has made that change anything, by verb
// and resource.
func (c *cluster) writes(user string) map[string]int {
	requests, err := c.plane.Requests(c.Context(), controlplane.Filter{User: user})
	require.NoError(c, err)
	counts := map[string]int{}
	for _, r := range requests {
		switch r.Verb {
		case "create", "update", "patch", "delete":
			if r.Resource != "events" {
				counts[r.Verb+" "+r.Resource]++
			}
		}
	}
	return counts
}
