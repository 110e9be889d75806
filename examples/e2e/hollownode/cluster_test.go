package hollownode

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const (
	nodes, zones = 60, 3
	domain       = "hollownode.kubelife.dev/"
	// patience is how long a step may take on a machine that is busy.
	patience = 2 * time.Minute
	// oursNode is the node of a fleet of one.
	oursNode = "ours-00001"
)

// agent is the manifest of the static pod of each node.
const agent = `apiVersion: v1
kind: Pod
metadata:
  name: agent
  labels: {app: agent}
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  containers:
  - name: main
    image: example.invalid/agent:1
    resources: {limits: {cpu: 10m, memory: 10Mi}}
`

// cluster is a control plane with a scheduler, controllers and hollow nodes.
type cluster struct {
	*testing.T
	// root is the whole test, with which all processes end.
	root     *testing.T
	plane    *controlplane.ControlPlane
	client   kubernetes.Interface
	programs string
	fleet    *controlplane.Process
	killed   *[]time.Time
}

// newPlane returns a cluster without nodes and controllers.
func newPlane(t *testing.T) *cluster {
	plane := controlplane.ForTest(t, controlplane.Config{})
	config := rest.CopyConfig(plane.RESTConfig())
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return &cluster{T: t, root: t, plane: plane, client: client, programs: t.TempDir(), killed: new([]time.Time)}
}

func newCluster(t *testing.T) *cluster {
	c := newPlane(t)
	built, err := controlplane.Build(t.Context(), controlplane.BuildConfig{Progress: t.Output()},
		controlplane.KubeScheduler, controlplane.KubeControllerManager)
	require.NoError(t, err)
	for binary, flags := range map[controlplane.Binary][]string{
		controlplane.KubeScheduler:         nil,
		controlplane.KubeControllerManager: {"--controllers=replicaset-controller,job-controller"},
	} {
		c.launch(binary.Name(), built[binary], append([]string{"--leader-elect=false", "--secure-port=0",
			"--kube-api-qps=500", "--kube-api-burst=500"}, flags...)...)
	}
	c.launchLifecycle()
	c.startFleet()
	return c
}

// launchLifecycle starts what taints silent nodes and evicts their pods.
func (c *cluster) launchLifecycle() {
	c.Helper()
	c.launch("nodelifecycle", c.program("nodelifecycle"), "--secure-port="+c.port(), "--bind-address=127.0.0.1",
		"--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500", "--node-eviction-rate=100",
		"--node-monitor-grace-period=25s", "--authentication-kubeconfig="+c.plane.Kubeconfig(),
		"--authorization-kubeconfig="+c.plane.Kubeconfig())
}

// startFleet starts the program as a process.
func (c *cluster) startFleet() {
	c.Helper()
	manifest := filepath.Join(c.programs, "agent.yaml")
	require.NoError(c, os.WriteFile(manifest, []byte(agent), 0o600))
	c.startNodes(fmt.Sprintf("--nodes=%d", nodes), fmt.Sprintf("--zones=%d", zones), "--pod-manifest-path="+manifest)
}

func (c *cluster) startNodes(flags ...string) {
	c.Helper()
	c.fleet = c.launch("hollownode", c.program("hollownode"), append([]string{
		"--leader-elect=false", "--secure-port=" + c.port(), "--bind-address=127.0.0.1",
		"--authentication-kubeconfig=" + c.plane.Kubeconfig(), "--authorization-kubeconfig=" + c.plane.Kubeconfig(),
	}, flags...)...)
}

// killFleet ends the process as kill -9 does.
func (c *cluster) killFleet() {
	*c.killed = append(*c.killed, time.Now())
	c.fleet.Kill()
}

// program builds a program of the examples once.
func (c *cluster) program(name string) string {
	c.Helper()
	path := filepath.Join(c.programs, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	_, err := sidebyside.OurProgram(name).Build(c.Context(), c.programs, c.Output())
	require.NoError(c, err)
	return path
}

func (c *cluster) port() string {
	c.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(c, err)
	require.NoError(c, listener.Close())
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(c, err)
	return port
}

func (c *cluster) launch(name, path string, flags ...string) *controlplane.Process {
	c.Helper()
	process, err := controlplane.StartProcess(controlplane.Command{
		Name: name, Path: path, Args: append([]string{"--kubeconfig=" + c.plane.Kubeconfig()}, flags...),
		LogFile: filepath.Join(c.programs, fmt.Sprintf("%s-%d.log", name, time.Now().UnixNano())),
	})
	require.NoError(c, err)
	c.root.Cleanup(func() {
		process.Stop(5 * time.Second)
		if c.root.Failed() {
			c.root.Logf("log of %s:\n%s", name, process.LogTail(30))
		}
	})
	return process
}

// eventually waits until nothing is missing any more, and returns how long that
// took.
func (c *cluster) eventually(what string, missing func() string) time.Duration {
	c.Helper()
	started := time.Now()
	for {
		lacks := missing()
		took := time.Since(started)
		switch {
		case lacks == "":
			c.Logf("%6.1fs  %s", took.Seconds(), what)
			return took
		case took > patience:
			c.Fatalf("after %v not yet: %s: %s", patience, what, lacks)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// pods returns the pods with a label.
func (c *cluster) pods(app string) []corev1.Pod {
	c.Helper()
	list, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).
		List(c.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	require.NoError(c, err)
	return list.Items
}

func (c *cluster) nodes() []corev1.Node {
	c.Helper()
	list, err := c.client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	return list.Items
}

// nodeOf returns a node, or nil.
func (c *cluster) nodeOf(name string) *corev1.Node {
	c.Helper()
	for _, node := range c.nodes() {
		if node.Name == name {
			return &node
		}
	}
	return nil
}

func nodeIsReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// nodesWhere returns the nodes that a function selects.
func (c *cluster) nodesWhere(is func(*corev1.Node) bool) nodeSet {
	c.Helper()
	found := nodeSet{}
	for _, node := range c.nodes() {
		if is(&node) {
			found[node.Name] = true
		}
	}
	return found
}

// awaitReady waits until so many nodes are ready.
func (c *cluster) awaitReady(n int) {
	c.Helper()
	c.eventually(fmt.Sprintf("%d nodes are ready", n), func() string {
		return unless(len(c.nodesWhere(nodeIsReady)), n)
	})
}

// annotate sets an annotation of nodes.
func (c *cluster) annotate(nodes nodeSet, name, value string) {
	c.Helper()
	c.patchAnnotation(nodes, name, strconv.Quote(value))
}

// unannotate takes an annotation of nodes away.
func (c *cluster) unannotate(nodes nodeSet, name string) {
	c.Helper()
	c.patchAnnotation(nodes, name, "null")
}

func (c *cluster) patchAnnotation(nodes nodeSet, name, value string) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, domain+name, value)
	for node := range nodes {
		_, err := c.client.CoreV1().Nodes().
			Patch(c.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(c, err)
	}
}

// template is a pod of one container that behaves by its annotations.
func template(app string, annotations map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}, Annotations: annotations},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "main", Image: "example.invalid/main"}},
			TerminationGracePeriodSeconds: new(int64(5)),
		},
	}
}

func (c *cluster) addJob(name string, completions, backoffLimit int32, annotations map[string]string) {
	c.Helper()
	pod := template(name, annotations)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := c.client.BatchV1().Jobs(metav1.NamespaceDefault).Create(c.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Completions: &completions, Parallelism: &completions, BackoffLimit: &backoffLimit, Template: pod,
		},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
}

// jobCondition returns the condition that is true of a job and its reason.
func (c *cluster) jobCondition(name string) string {
	c.Helper()
	job, err := c.client.BatchV1().Jobs(metav1.NamespaceDefault).Get(c.Context(), name, metav1.GetOptions{})
	require.NoError(c, err)
	for _, condition := range job.Status.Conditions {
		if condition.Status == corev1.ConditionTrue &&
			(condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			return string(condition.Type) + " " + condition.Reason
		}
	}
	return ""
}
