package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// applyManifest applies the manifest of a program as it stands, as kubectl
// apply --server-side --validate=strict does. The API server decodes the text,
// and refuses a field that it does not know.
func (c *cluster) applyManifest(program string) {
	c.t.Helper()
	text, err := os.ReadFile("../" + program + "/manifest.yaml")
	require.NoError(c.t, err)
	c.apply(program, text)
}

// apply applies the objects of a file.
func (c *cluster) apply(file string, text []byte) {
	c.t.Helper()
	client, err := dynamic.NewForConfig(c.plane.RESTConfig())
	require.NoError(c.t, err)
	groups, err := restmapper.GetAPIGroupResources(c.client.Discovery())
	require.NoError(c.t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(c.t, err)
		object := &unstructured.Unstructured{}
		require.NoError(c.t, yaml.Unmarshal(document, &object.Object))
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		require.NoError(c.t, err)
		_, err = client.Resource(mapping.Resource).Namespace(object.GetNamespace()).
			Patch(c.t.Context(), object.GetName(), types.ApplyYAMLPatchType, document, metav1.PatchOptions{
				FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict,
			})
		require.NoError(c.t, err, "apply %s %s of %s", kind.Kind, object.GetName(), file)
	}
}

// deployed returns the Deployment of a program, and its container.
func (c *cluster) deployed(program string) (*appsv1.Deployment, *corev1.Container) {
	c.t.Helper()
	deployment, err := c.client.AppsV1().Deployments(metav1.NamespaceSystem).
		Get(c.t.Context(), program, metav1.GetOptions{})
	require.NoError(c.t, err)
	require.Len(c.t, deployment.Spec.Template.Spec.Containers, 1)
	return deployment, &deployment.Spec.Template.Spec.Containers[0]
}

// launchDeployed starts a program as its manifest does: with the token of its
// ServiceAccount, its arguments and environment, except for the port.
func (c *cluster) launchDeployed(program string, flags ...string) *controller {
	c.t.Helper()
	deployment, container := c.deployed(program)
	account, err := c.plane.ServiceAccountConfig(c.t.Context(), metav1.NamespaceSystem,
		deployment.Spec.Template.Spec.ServiceAccountName)
	require.NoError(c.t, err)
	kubeconfig, err := c.plane.WriteKubeconfig(account)
	require.NoError(c.t, err)
	port := fmt.Sprintf("--secure-port=%d", container.Ports[0].ContainerPort)
	require.Contains(c.t, container.Args, port)
	args := slices.DeleteFunc(slices.Clone(container.Args), func(arg string) bool { return arg == port })
	before := c.env
	for _, v := range container.Env {
		require.Nil(c.t, v.ValueFrom)
		c.env = append(slices.Clone(c.env), v.Name+"="+v.Value)
	}
	running := c.launchProgram(program, kubeconfig, append(args, flags...)...)
	c.env = before
	for path, probe := range map[string]*corev1.Probe{
		"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe,
	} {
		require.Equal(c.t, path, probe.HTTPGet.Path)
		require.Equal(c.t, corev1.URISchemeHTTPS, probe.HTTPGet.Scheme)
		require.Equal(c.t, container.Ports[0].Name, probe.HTTPGet.Port.String())
		c.eventually(program+" answers "+path, func(*witness) error { return running.answers(path) })
	}
	return running
}

// everyRight are flags with which a program uses every right that it can use.
func everyRight() []string {
	return []string{"--confirm", "--action=evict-then-delete", "--evict-for=2s"}
}

// launchStandby starts a second replica whose informers list, as they do with
// an API server that streams no lists. The first one's only watch.
func (c *cluster) launchStandby(program string) *controller {
	c.t.Helper()
	c.env = []string{"KUBE_FEATURE_WatchListClient=false"}
	defer func() { c.env = nil }()
	return c.launchDeployed(program)
}

// launchShadow starts a program as a shadow with the account of the one that
// acts. No other uses the rights to the Lease of a shadow. Its informers list,
// so that it uses each of them.
func (c *cluster) launchShadow(program string) *controller {
	c.t.Helper()
	c.env = []string{"KUBE_FEATURE_WatchListClient=false"}
	defer func() { c.env = nil }()
	running := c.launchDeployed(program, "--shadow")
	c.eventually("the shadow leads with its own lease", func(*witness) error {
		lease, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).
			Get(c.t.Context(), program+"-shadow", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return errors.New("the lease has no holder")
		}
		return nil
	})
	return running
}

// What nodelifecycle asks the API server for in its life its manifest permits,
// and the manifest permits nothing else.
func TestManifestOfNodelifecycleGivesTheLeastRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 6}, fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(ptr.To[int64](1))})
	c.applyManifest("nodelifecycle")
	running := c.launchDeployed("nodelifecycle", lifecycleFlags(everyRight()...)...)
	standby := c.launchStandby("nodelifecycle")
	shadow := c.launchShadow("nodelifecycle")
	settle(t)

	nodes := c.fleet.Nodes("a")
	first, second := nodes[0], nodes[1]
	c.forbidEvictions()
	c.fleet.Cut(first)
	c.eventually("a pod whose eviction is forbidden is deleted", wantEvicted(fleet.PodName("web", first)))
	c.fleet.Restore(first)
	c.eventually("its node is healthy again", func(w *witness) error { return w.each(nodes, (*nodeSeen).wantHealthy) })
	c.allowEvictions()
	c.fleet.Cut(second)
	c.eventually("a pod is evicted", wantEvicted(fleet.PodName("web", first), fleet.PodName("web", second)))
	c.fleet.Restore(second)
	c.eventually("its node is healthy again", func(w *witness) error { return w.each(nodes, (*nodeSeen).wantHealthy) })
	c.haltTwice("nodelifecycle")
	c.readPages(running, "nodelifecycle", "/metrics", "/pending", "/doubt")
	c.stop(shadow)
	c.stop(standby)
	c.stop(running)
	c.wantLeastRights("nodelifecycle")
}

// The same of tainteviction.
func TestManifestOfTaintevictionGivesTheLeastRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 2}, fleet.Pod{Name: "web"})
	c.applyManifest("tainteviction")
	running := c.launchDeployed("tainteviction", everyRight()...)
	standby := c.launchStandby("tainteviction")
	shadow := c.launchShadow("tainteviction")

	nodes := c.fleet.Nodes("a")
	c.forbidEvictions()
	c.taint(nodes[0])
	c.eventually("a pod whose eviction is forbidden is deleted", wantEvicted(fleet.PodName("web", nodes[0])))
	c.allowEvictions()
	c.taint(nodes[1])
	c.eventually("a pod is evicted", wantEvicted(fleet.PodName("web", nodes[0]), fleet.PodName("web", nodes[1])))
	c.haltTwice("tainteviction")
	c.readPages(running, "tainteviction", "/metrics", "/pending")
	c.stop(shadow)
	c.stop(standby)
	c.stop(running)
	c.wantLeastRights("tainteviction")
}

// The same of scheduler. With such a timeout it reads each pod that it has
// bound.
func TestManifestOfSchedulerGivesTheLeastRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t, map[string]int{"a": 2})
	c.openNodes(c.fleet.AllNodes())
	c.addPriorities()
	c.applyManifest("scheduler")
	running := c.launchDeployed("scheduler", schedulerFlags("--assume-timeout=1ns")...)
	standby := c.launchStandby("scheduler")

	c.create(manyPods("low", 8, "1", nil))
	c.eventually("pods are bound", func(*witness) error { return c.wantAllBound("low") })
	c.create(manyPods("high", 1, "1", func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "high" }))
	c.eventually("a pod makes room", func(*witness) error { return c.wantAllBound("high") })
	c.haltTwice("scheduler")
	c.readPages(running, "scheduler", "/metrics", "/pending", "/evictions")
	c.stop(standby)
	c.stop(running)
	c.wantLeastRights("scheduler")
}

// forbidEvictions makes the Eviction API refuse every pod of the fleet.
func (c *cluster) forbidEvictions() {
	c.t.Helper()
	_, err := c.client.PolicyV1().PodDisruptionBudgets(fleet.Namespace).
		Create(c.t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "none"},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(0)),
				Selector: &metav1.LabelSelector{}},
		}, metav1.CreateOptions{})
	require.NoError(c.t, err)
}

func (c *cluster) allowEvictions() {
	c.t.Helper()
	require.NoError(c.t, c.client.PolicyV1().PodDisruptionBudgets(fleet.Namespace).
		Delete(c.t.Context(), "none", metav1.DeleteOptions{}))
}

// taint makes the pods of a node leave, as an administrator does.
func (c *cluster) taint(node string) {
	c.t.Helper()
	patch := []byte(`{"spec":{"taints":[{"key":"example.com/maintenance","effect":"NoExecute"}]}}`)
	_, err := c.client.CoreV1().Nodes().Patch(c.t.Context(), node, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
	require.NoError(c.t, err)
}

// haltTwice halts a program two times for the same reason. The second Event
// about that is a patch of the first.
func (c *cluster) haltTwice(program string) {
	c.t.Helper()
	for times := range int32(2) {
		for _, step := range []struct{ reason, value string }{{"Halted", `"a test"`}, {"Resumed", "null"}} {
			c.annotateLease(program, step.value)
			c.eventually(fmt.Sprintf("%s says %s for time %d", program, step.reason, times+1), func(*witness) error {
				return c.wantLeaseEvent(program, step.reason, times+1)
			})
		}
	}
}

func (c *cluster) wantLeaseEvent(program, reason string, count int32) error {
	events, err := c.client.CoreV1().Events(metav1.NamespaceSystem).List(c.t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Lease,involvedObject.name=" + program + ",reason=" + reason,
	})
	if err != nil {
		return err
	}
	if len(events.Items) != 1 || occurrences(&events.Items[0]) != count {
		return fmt.Errorf("%d Events, want one that counts %d", len(events.Items), count)
	}
	return nil
}

// occurrences returns how often the same happened, by the older API of Events
// or the newer one.
func occurrences(event *corev1.Event) int32 {
	if event.Series != nil {
		return event.Series.Count
	}
	return max(event.Count, 1)
}

// readPages reads pages with a token, about which the program asks. It returns
// the last one.
func (c *cluster) readPages(running *controller, program string, pages ...string) (last string) {
	c.t.Helper()
	reader := c.reader(program)
	for _, page := range pages {
		c.eventually(program+page+" is read", func(*witness) error {
			status, body, err := running.ask(reader, page)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%d: %s", status, body)
			}
			if err == nil && page == "/metrics" && strings.Contains(body, `rest_client_requests_total{code="403"`) {
				err = errors.New("it counts requests that were forbidden")
			}
			last = body
			return err
		})
	}
	return last
}

// wantMemoryFits wants that the container's limit holds the limit of Go's
// runtime. The latter must hold the heap of the cluster that the manifest
// names, next to all pages at worst.
func (c *cluster) wantMemoryFits(program string, pages int) {
	c.t.Helper()
	const (
		pageBytes, pageCallers = 8 << 20, 4 // of package serving
		objects                = 31_000     // 1,000 nodes with 30 pods each
		heapOfOne              = 3.8 * (1 << 30) / 1_100_000
		base                   = 100 << 20
	)
	_, container := c.deployed(program)
	limit := container.Resources.Limits.Memory().Value()
	require.Equal(c.t, container.Resources.Requests.Memory().Value(), limit,
		"the kubelet evicts what uses more than it has requested")
	require.Equal(c.t, "GOMEMLIMIT", container.Env[0].Name)
	var mebibytes int64
	_, err := fmt.Sscanf(container.Env[0].Value, "%dMiB", &mebibytes)
	require.NoError(c.t, err)
	soft := mebibytes << 20
	require.InDelta(c.t, 0.9, float64(soft)/float64(limit), 0.01)
	worst := objects*heapOfOne + float64(pages*pageCallers*pageBytes) + base
	require.Less(c.t, worst, float64(soft))
	require.GreaterOrEqual(c.t, limit, int64(256<<20+objects*8<<10), "the formula in its comment")
}
