package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	imported "github.com/kubelife/lifecycle/examples/outage/cluster"
)

// fixture is the output of kubectl that the tests of outage read. It is written
// again with LIFECYCLE_FIXTURE=write.
const fixture = "../outage/cluster/testdata/cluster.json"

// TestOutageMakesTheSameScenarioOfBothSources: a real API server has a cluster,
// and outage makes a scenario of what kubectl prints and of its own lists. Both
// are the same, and so is that of the fixture. It needs no right but those of
// its ClusterRole, and names those that it lacks.
func TestOutageMakesTheSameScenarioOfBothSources(t *testing.T) {
	t.Parallel()
	plane := controlplane.ForTest(t, controlplane.Config{})
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	require.NoError(t, err)
	kubectl := kubectlOf(t, plane)
	kubectl(shopObjects(), "apply", "--validate=strict", "-f", "-")
	for _, node := range shopNodes() {
		kubectl("", "patch", "node", node.name, "--subresource=status", "-p",
			`{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`)
	}
	pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range pods.Items {
		pod := &pods.Items[i]
		_, err := client.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType,
			[]byte(`{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`),
			metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
	printed := filepath.Join(t.TempDir(), "cluster.json")
	output := kubectl("", strings.Fields(strings.TrimPrefix(imported.Command, "kubectl "))...)
	require.NoError(t, os.WriteFile(printed, output, 0o600))
	if os.Getenv("LIFECYCLE_FIXTURE") == "write" {
		require.NoError(t, os.WriteFile(fixture, withoutManagers(t, output), 0o644))
	}

	user, err := plane.UserConfig("planner")
	require.NoError(t, err)
	kubeconfig, err := plane.WriteKubeconfig(user)
	require.NoError(t, err)
	_, says, err := outage(t, "--kubeconfig", kubeconfig, "--save", filepath.Join(t.TempDir(), "s.yaml"))
	require.Error(t, err)
	for _, resource := range []string{"nodes", "pods", "leases.coordination.k8s.io", "poddisruptionbudgets.policy",
		"deployments.apps", "daemonsets.apps", "replicasets.apps", "statefulsets.apps", "jobs.batch"} {
		require.Contains(t, says, "missing right: list on "+resource+" in all namespaces; outage/cluster/clusterrole.yaml")
	}
	role, err := os.ReadFile("../outage/cluster/clusterrole.yaml")
	require.NoError(t, err)
	kubectl(string(role), "apply", "--validate=strict", "-f", "-")
	_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "planner"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "planner"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "outage"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	listed, notes := saved(t, "--kubeconfig", kubeconfig)
	fromFile, fileNotes := saved(t, "--from", printed)
	require.Equal(t, fromFile, listed)
	require.Equal(t, fileNotes, notes)
	fromFixture, fixtureNotes := saved(t, "--from", fixture)
	require.Equal(t, fixtureNotes, fileNotes)
	require.Equal(t, fixtureNotes, notes)
	require.Equal(t, fromFixture, fromFile, "the fixture is old: run with LIFECYCLE_FIXTURE=write")
	require.Contains(t, fromFile, "node-monitor-grace-period: 40s")
	requests, err := plane.Requests(context.Background(), controlplane.Filter{User: "planner"})
	require.NoError(t, err)
	for _, r := range requests {
		require.Equal(t, "list", r.Verb, "%s %s", r.Verb, r.Object())
	}
	require.GreaterOrEqual(t, len(requests), 9)
}

// saved returns the scenario that outage saves, and what it says of it.
func saved(t *testing.T, source ...string) (text, notes string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "scenario.yaml")
	_, says, err := outage(t, append(source, "--save", name)...)
	require.NoError(t, err, says)
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(content), strings.ReplaceAll(says, name, "FILE")
}

// outage runs the simulator.
func outage(t *testing.T, args ...string) (out, diagnostics string, _ error) {
	t.Helper()
	var o, d bytes.Buffer
	command := exec.CommandContext(t.Context(), program(t, "outage"), args...)
	command.Stdout, command.Stderr = &o, &d
	err := command.Run()
	return o.String(), d.String(), err
}

// kubectlOf returns a function that runs kubectl as the administrator.
func kubectlOf(t *testing.T, plane *controlplane.ControlPlane) func(in string, args ...string) []byte {
	t.Helper()
	paths, err := controlplane.Build(t.Context(), controlplane.BuildConfig{Progress: t.Output()}, controlplane.Kubectl)
	require.NoError(t, err)
	return func(in string, args ...string) []byte {
		t.Helper()
		command := exec.CommandContext(t.Context(), paths[controlplane.Kubectl],
			append([]string{"--kubeconfig", plane.Kubeconfig()}, args...)...)
		var diagnostics bytes.Buffer
		command.Stdin, command.Stderr = strings.NewReader(in), &diagnostics
		out, err := command.Output()
		require.NoError(t, err, "kubectl %s: %s", args, diagnostics.String())
		return out
	}
}

// withoutManagers leaves out what a reader of the fixture does not need, which
// is most of it.
func withoutManagers(t *testing.T, output []byte) []byte {
	t.Helper()
	var list map[string]any
	require.NoError(t, json.Unmarshal(output, &list))
	for _, item := range list["items"].([]any) {
		metadata := item.(map[string]any)["metadata"].(map[string]any)
		delete(metadata, "annotations")
		delete(metadata, "managedFields")
	}
	text, err := json.MarshalIndent(list, "", " ")
	require.NoError(t, err)
	return append(text, '\n')
}

type shopNode struct{ name, zone, pool, rack string }

// shopNodes are 12 nodes in three zones.
func shopNodes() []shopNode {
	var nodes []shopNode
	for _, zone := range []string{"a", "b", "c"} {
		for i := range 3 {
			nodes = append(nodes, shopNode{fmt.Sprintf("%s-main-%d", zone, i), "eu-1" + zone, "main", fmt.Sprintf("r%d", i%2)})
		}
		nodes = append(nodes, shopNode{zone + "-gpu", "eu-1" + zone, "gpu", "r9"})
	}
	return nodes
}

// shopObjects are a cluster in YAML, as kubectl applies it.
func shopObjects() string {
	var b strings.Builder
	for _, n := range shopNodes() {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\n  labels: {topology.kubernetes.io/zone: %s, "+
			"cloud.google.com/gke-nodepool: %s, topology.kubernetes.io/rack: %s}\n", n.name, n.zone, n.pool, n.rack)
		if n.pool == "gpu" {
			b.WriteString("spec: {taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}\n")
		}
		fmt.Fprintf(&b, "---\napiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: %s, namespace: "+
			"kube-node-lease}\nspec: {leaseDurationSeconds: 40, holderIdentity: %s}\n---\n", n.name, n.name)
	}
	b.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n")
	pod := func(namespace, name, node, owner, spec string) {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: %s\n  labels: {app: %s}\n%s"+
			"spec:\n  nodeName: %s\n%s  containers: [{name: main, image: example.com/main}]\n---\n", name, namespace,
			strings.TrimRight(name, "-0123456789"), owner, node, spec)
	}
	owned := func(version, kind, name string) string {
		return fmt.Sprintf("  ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: of-%s, controller: true}]\n",
			version, kind, name, name)
	}
	for i, n := range shopNodes() {
		pod("kube-system", fmt.Sprintf("agent-%d", i), n.name, owned("apps/v1", "DaemonSet", "agent"),
			"  priorityClassName: system-node-critical\n  tolerations: [{operator: Exists}]\n")
		if n.pool == "main" {
			pod("shop", fmt.Sprintf("web-%d", i), n.name, owned("apps/v1", "ReplicaSet", "web-7f9"), "")
		}
	}
	sixty := func(key string) string {
		return "{key: " + key + ", operator: Exists, effect: NoExecute, tolerationSeconds: 60}\n"
	}
	const gpu = "  nodeSelector: {cloud.google.com/gke-nodepool: gpu}\n" +
		"  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]\n"
	pod("shop", "train-0", "a-gpu", owned("batch/v1", "Job", "train"), gpu)
	pod("shop", "train-1", "a-gpu", owned("batch/v1", "Job", "train"), gpu)
	for i, node := range []string{"a-main-0", "b-main-0", "b-main-1"} {
		pod("shop", fmt.Sprintf("db-%d", i), node, owned("apps/v1", "StatefulSet", "db"),
			"  tolerations:\n  - "+sixty(corev1.TaintNodeUnreachable)+"  - "+sixty(corev1.TaintNodeNotReady))
	}
	b.WriteString(shopOwners)
	return b.String()
}

// shopOwners are what the pods belong to, with a kube-controller-manager.
const shopOwners = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/main}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-7f9
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: of-web, controller: true}]
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/main}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db, namespace: shop}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: db}}}
---
apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager-x, namespace: kube-system}
spec:
  nodeName: a-main-0
  tolerations: [{operator: Exists}]
  containers:
  - name: kube-controller-manager
    image: registry.k8s.io/kube-controller-manager:v1.37.1
    command: [kube-controller-manager, --leader-elect=true, --node-monitor-grace-period=40s]
`
