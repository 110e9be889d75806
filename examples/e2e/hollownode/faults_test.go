package hollownode

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

const (
	faultsRole = "hollownode:faults"
	// slow is a latency that no machine has by itself.
	slow = 4 * time.Second
)

// Nodes with one fault each, by name.
const (
	silentNode = "faulty-0000" + string('1'+iota)
	runtimeNode
	networkNode
	pressedNode
	bootNode
	startNode
	slowNode
	failingNode
	skewedNode
	faultyNodes = iota
)

// A person with no other right than the role for faults sets each of them with
// kubectl, sees them with kubectl, and takes them away. One without the role is
// refused.
func TestFaultsAreSetAndShownByKubectl(t *testing.T) {
	c := newPlane(t)
	admin := c.kubectl(c.plane.Kubeconfig())
	_, err := admin("apply", "--server-side", "-f", "../../hollownode/manifest.yaml")
	require.NoError(t, err)
	c.launchLifecycle()
	c.startNodes(fmt.Sprintf("--nodes=%d", faultyNodes), "--name-prefix=faulty", "--list-per-node")
	person := c.kubectl(c.userWith("person", faultsRole))
	c.eventually("all nodes are ready by kubectl get nodes", func() string { return c.lacksReady(person) })
	for _, node := range []string{bootNode, startNode, silentNode} {
		c.bind(node, "on-"+node, nil)
	}
	c.bind(pressedNode, "crashed", nil)
	c.eventually("pods run by kubectl get pods", func() string {
		return unless(count(c.columns(person, "pods"), "STATUS", "Running"), 4)
	})
	boot, set := c.shownNode(person, bootNode).Status.NodeInfo.BootID, time.Now()
	for node, fault := range faultsOfNodes() {
		_, err := person(slices.Concat([]string{"annotate", "node", node}, fault)...)
		require.NoError(t, err)
	}
	// By a label, which lists them.
	_, err = person("annotate", "nodes", "-l", corev1.LabelHostname+"="+pressedNode, domain+"pid-pressure=true")
	require.NoError(t, err)
	_, err = person("annotate", "pod", "crashed", domain+"crash=main:7")
	require.NoError(t, err)
	annotated := time.Now()
	c.bind(slowNode, "slow", nil)
	c.bind(failingNode, "failing", nil)

	c.eventually("faults show by kubectl get nodes", func() string {
		status := byName(c.columns(person, "nodes"), "STATUS")
		for _, node := range []string{silentNode, runtimeNode, networkNode, failingNode} {
			if status[node] != "NotReady" {
				return node + " is " + status[node]
			}
		}
		return unless(count(c.columns(person, "nodes"), "STATUS", "NotReady"), 4)
	})
	c.eventually("they show in the conditions of nodes", func() string {
		return c.lacksConditions(person)
	})
	c.eventually("all that are lasting show by kubectl get nodes -o wide", func() string {
		return c.lacksImages(person)
	})
	c.eventually("pods restart by kubectl get pods", func() string {
		restarts := byName(c.columns(person, "pods"), "RESTARTS")
		for name, want := range map[string]string{"crashed": "1", "on-" + bootNode: "1", "on-" + startNode: "0"} {
			if restarts[name] != want {
				return fmt.Sprintf("%s has %s, want %s", name, restarts[name], want)
			}
		}
		return ""
	})
	require.NotEqual(t, boot, c.shownNode(person, bootNode).Status.NodeInfo.BootID)
	c.eventually("the kubelet that has started again lists its pods", func() string {
		return unless(c.asksForPods(startNode, set) > 0, true)
	})
	c.eventually("the lease shows the clock", func() string {
		lease, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
			Get(c.Context(), skewedNode, metav1.GetOptions{})
		require.NoError(c, err)
		return unless(time.Since(lease.Spec.RenewTime.Time) > 59*time.Minute, true)
	})
	c.eventually("a pod runs although its node is slow", func() string {
		return unless(byName(c.columns(person, "pods"), "STATUS")["slow"], "Running")
	})
	first := c.firstStatus("slow", annotated)
	assert.Greater(t, first.Sub(c.pod("slow").CreationTimestamp.Time), slow-time.Second, "the time is in whole seconds")
	assert.Equal(t, "Pending", byName(c.columns(person, "pods"), "STATUS")["failing"], "no write of it succeeds")
	assert.True(t, c.firstStatus("failing", annotated).IsZero())

	for node, fault := range faultsOfNodes() {
		args := []string{"annotate", "node", node}
		for _, text := range fault {
			key, _, _ := strings.Cut(text, "=")
			args = append(args, key+"-")
		}
		_, err := person(args...)
		require.NoError(t, err)
	}
	_, err = person("annotate", "nodes", "-l", corev1.LabelHostname+"="+pressedNode, domain+"pid-pressure-")
	require.NoError(t, err)
	c.eventually("all nodes are ready again", func() string { return c.lacksReady(person) })
	c.eventually("no fault shows", func() string {
		return unless(len(c.nodesWhere(func(node *corev1.Node) bool {
			return node.Status.NodeInfo.OSImage == "hollownode"
		})), faultyNodes)
	})
	c.eventually("all pods run", func() string {
		return unless(count(c.columns(person, "pods"), "STATUS", "Running"), 6)
	})
	c.wantRefused()
	c.wantRightsUsed("person")
}

// faultsOfNodes are the annotations that are set, by node.
func faultsOfNodes() map[string][]string {
	list := func(texts ...string) []string {
		for i := range texts {
			texts[i] = domain + texts[i]
		}
		return texts
	}
	return map[string][]string{
		silentNode: list("silent="), runtimeNode: list("runtime-down="), networkNode: list("network-down="),
		pressedNode: list("memory-pressure=", "disk-pressure=true"),
		bootNode:    list("boot=2"), startNode: list("kubelet-start=2"),
		slowNode: list("api-latency=" + slow.String()), failingNode: list("api-failures=1"),
		skewedNode: list("clock-skew=-1h"),
	}
}

// A runner runs kubectl as one user. The error has what it has printed.
type runner func(args ...string) ([]byte, error)

func (c *cluster) kubectl(kubeconfig string) runner {
	c.Helper()
	built, err := controlplane.Build(c.Context(), controlplane.BuildConfig{Progress: c.Output()}, controlplane.Kubectl)
	require.NoError(c, err)
	common := []string{"--kubeconfig", kubeconfig, "--cache-dir", c.TempDir()}
	return func(args ...string) ([]byte, error) {
		var diagnostics strings.Builder
		command := exec.CommandContext(c.Context(), built[controlplane.Kubectl], append(common, args...)...)
		command.Stderr = &diagnostics
		out, err := command.Output()
		if err != nil {
			err = fmt.Errorf("kubectl %s: %w: %s", args, err, diagnostics.String())
		}
		return out, err
	}
}

// userWith returns the kubeconfig of a user with a role, or with none.
func (c *cluster) userWith(user, role string) string {
	c.Helper()
	access, err := c.plane.UserConfig(user)
	require.NoError(c, err)
	kubeconfig, err := c.plane.WriteKubeconfig(access)
	require.NoError(c, err)
	if role == "" {
		return kubeconfig
	}
	_, err = c.client.RbacV1().ClusterRoleBindings().Create(c.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return kubeconfig
}

// columns returns the lines that kubectl get prints, by the heads of columns.
func (c *cluster) columns(kubectl runner, resource string) []map[string]string {
	c.Helper()
	out, err := kubectl("get", resource)
	require.NoError(c, err)
	var heads []string
	var rows []map[string]string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if heads == nil {
			heads = fields
			continue
		}
		row := map[string]string{}
		for i := range min(len(heads), len(fields)) {
			row[heads[i]] = fields[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// byName returns one column by the names of the objects.
func byName(rows []map[string]string, column string) map[string]string {
	values := map[string]string{}
	for _, row := range rows {
		values[row["NAME"]] = row[column]
	}
	return values
}

func count(rows []map[string]string, column, value string) (n int) {
	for _, row := range rows {
		if row[column] == value {
			n++
		}
	}
	return n
}

func (c *cluster) lacksReady(kubectl runner) string {
	c.Helper()
	return unless(count(c.columns(kubectl, "nodes"), "STATUS", "Ready"), faultyNodes)
}

// shownNode returns a node as kubectl get shows it.
func (c *cluster) shownNode(kubectl runner, name string) *corev1.Node {
	c.Helper()
	out, err := kubectl("get", "node", name, "-o", "json")
	require.NoError(c, err)
	node := &corev1.Node{}
	require.NoError(c, json.Unmarshal(out, node))
	return node
}

// lacksConditions returns which condition does not show a fault.
func (c *cluster) lacksConditions(kubectl runner) string {
	c.Helper()
	for _, want := range []struct {
		node, message string
		kind          corev1.NodeConditionType
		status        corev1.ConditionStatus
	}{
		{runtimeNode, "container runtime is down", corev1.NodeReady, corev1.ConditionFalse},
		{networkNode, "container runtime network not ready", corev1.NodeReady, corev1.ConditionFalse},
		{pressedNode, "", corev1.NodeMemoryPressure, corev1.ConditionTrue},
		{pressedNode, "", corev1.NodeDiskPressure, corev1.ConditionTrue},
		{pressedNode, "", corev1.NodePIDPressure, corev1.ConditionTrue},
		{silentNode, "", corev1.NodeReady, corev1.ConditionUnknown},
		{failingNode, "", corev1.NodeReady, corev1.ConditionUnknown},
	} {
		found := slices.ContainsFunc(c.shownNode(kubectl, want.node).Status.Conditions, func(is corev1.NodeCondition) bool {
			return is.Type == want.kind && is.Status == want.status && strings.Contains(is.Message, want.message)
		})
		if !found {
			return fmt.Sprintf("%s is not %s of %s", want.kind, want.status, want.node)
		}
	}
	return ""
}

// lacksImages returns which node does not show its faults in the wide table, or
// shows one that it has not. A node of which nothing is heard shows nothing
// new, and a reboot or a start is over at once.
func (c *cluster) lacksImages(kubectl runner) string {
	c.Helper()
	shown := map[string]string{
		runtimeNode: "runtime-down", networkNode: "network-down",
		pressedNode: "memory-pressure,disk-pressure,pid-pressure",
		slowNode:    "api-latency=" + slow.String(), skewedNode: "clock-skew=-1h0m0s",
	}
	out, err := kubectl("get", "nodes", "-o", "wide")
	require.NoError(c, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")[1:]
	require.Len(c, lines, faultyNodes)
	for _, line := range lines {
		node := strings.Fields(line)[0]
		image := "hollownode"
		if faults := shown[node]; faults != "" {
			image += " with " + faults
		}
		const gap = "  " // between two columns
		if !strings.Contains(line, gap+image+gap) {
			return fmt.Sprintf("%q has no %q", line, image)
		}
	}
	return ""
}

// asksForPods returns how often the pods of a node were read since a time.
func (c *cluster) asksForPods(node string, since time.Time) int {
	c.Helper()
	return len(c.fleetRequests(controlplane.Filter{Resource: "pods", Since: since}, func(r *controlplane.Request) bool {
		return strings.Contains(r.URI, "spec.nodeName%3D"+node)
	}))
}

// firstStatus returns when the first status of a pod was written after a time,
// or zero.
func (c *cluster) firstStatus(pod string, since time.Time) time.Time {
	c.Helper()
	written := c.fleetRequests(controlplane.Filter{Resource: "pods/status", Since: since},
		func(r *controlplane.Request) bool { return r.Name == pod })
	if len(written) == 0 {
		return time.Time{}
	}
	return written[0].Received
}

// wantRefused wants that a user without a role may not even look, and that a
// right to look is none to set a fault.
func (c *cluster) wantRefused() {
	c.Helper()
	_, err := c.client.RbacV1().ClusterRoles().Create(c.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"get"},
		}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	for user, refused := range map[string]string{"stranger": "get", "reader": "patch"} {
		role := map[string]string{"reader": "reader"}[user]
		kubectl := c.kubectl(c.userWith(user, role))
		for object, annotation := range map[string]string{
			"node/" + slowNode: domain + "silent=", "pod/crashed": domain + "crash=main:8",
		} {
			_, err := kubectl("annotate", "--overwrite", object, annotation)
			require.ErrorContains(c, err, "Forbidden")
			require.ErrorContains(c, err, fmt.Sprintf("User %q cannot %s", user, refused))
		}
		requests, err := c.plane.Requests(c.Context(), controlplane.Filter{User: user, Verb: refused, Resource: "*"})
		require.NoError(c, err)
		require.Len(c, requests, 2)
		for _, r := range requests {
			require.Equal(c, 403, r.Code, "%s %s by %s", r.Verb, r.Object(), user)
		}
	}
	require.NotContains(c, c.nodeOf(slowNode).Annotations, domain+"silent")
	require.Equal(c, "main:7", c.pod("crashed").Annotations[domain+"crash"])
}

// wantRightsUsed wants that a user was refused nothing and that it has used
// each right of the role for faults.
func (c *cluster) wantRightsUsed(user string) {
	c.Helper()
	role, err := c.client.RbacV1().ClusterRoles().Get(c.Context(), faultsRole, metav1.GetOptions{})
	require.NoError(c, err)
	granted, used := sets.New[string](), sets.New[string]()
	for _, rule := range role.Rules {
		require.Equal(c, []string{""}, rule.APIGroups)
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				granted.Insert(verb + " " + resource)
			}
		}
	}
	requests, err := c.plane.Requests(c.Context(), controlplane.Filter{User: user, Resource: "*"})
	require.NoError(c, err)
	for _, r := range requests {
		require.NotEqual(c, 403, r.Code, "%s %s", r.Verb, r.Object())
		used.Insert(r.Verb + " " + r.Resource)
	}
	require.Equal(c, sets.List(granted), sets.List(used))
}
