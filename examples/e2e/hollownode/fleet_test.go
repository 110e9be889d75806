package hollownode

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

const (
	replicas = 180
	silent   = "zone-3"
	// killing is how long a signal may take until its process has ended.
	killing = time.Second
	// readyAgain is how long after the return of its node a pod that stayed may
	// take to be ready.
	readyAgain = 10 * time.Second
)

func TestHollowNodesOnARealControlPlane(t *testing.T) {
	c := newCluster(t)
	c.eventually(fmt.Sprintf("%d nodes are ready and take pods", nodes), func() string {
		open := 0
		for _, node := range c.nodes() {
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
					open++
				}
			}
		}
		return unless(open, nodes)
	})
	c.eventually("a mirror pod shows the static pod of each", func() string {
		return unless(c.countReady("agent"), nodes)
	})
	c.addReplicaSet("web", replicas, 5)
	c.addStaying()
	c.killWhilePodsComeUp()
	t.Run("the fleet is killed", func(t *testing.T) { c.at(t).killThrice() })
	t.Run("a mirror pod is deleted", func(t *testing.T) { c.at(t).deleteMirror() })
	t.Run("jobs", func(t *testing.T) { c.at(t).runJobs() })
	t.Run("a zone is silent and returns", func(t *testing.T) { c.at(t).silenceZone() })
	c.wantNoConflict()
}

// at returns the cluster for a part of the test.
func (c *cluster) at(t *testing.T) *cluster {
	part := *c
	part.T = t
	t.Cleanup(func() { c.fleet = part.fleet })
	return &part
}

// killWhilePodsComeUp kills the fleet when some pods run. All become ready
// under the next process, and each container that was shown to run is the same.
func (c *cluster) killWhilePodsComeUp() {
	c.Helper()
	comingUp := func() []corev1.Pod { return slices.Concat(c.pods("web"), c.pods("stays")) }
	c.eventually("some of the pods run", func() string {
		return unless(len(runningContainers(c.pods("web"))) > 0, true) // the others start at once
	})
	c.killFleet()
	before := runningContainers(comingUp())
	require.Less(c, len(before), replicas+nodes, "some did not run yet")
	c.startFleet()
	c.eventually(fmt.Sprintf("%d pods are ready", replicas+nodes), func() string {
		return unless(c.countReady("web")+c.countReady("stays"), replicas+nodes)
	})
	after := runningContainers(comingUp())
	require.Len(c, after, replicas+nodes)
	for uid, now := range after {
		require.Zero(c, now.RestartCount)
		if was, ran := before[uid]; ran {
			require.Equal(c, was.ContainerID, now.ContainerID)
			require.Equal(c, was.State, now.State)
		}
	}
	c.Logf("%d of %d containers ran when the fleet was killed", len(before), len(after))
}

// runningContainers returns the containers of pods that are shown to run.
func runningContainers(pods []corev1.Pod) map[types.UID]corev1.ContainerStatus {
	found := map[types.UID]corev1.ContainerStatus{}
	for i := range pods {
		if list := pods[i].Status.ContainerStatuses; len(list) > 0 && list[0].State.Running != nil {
			found[pods[i].UID] = list[0]
		}
	}
	return found
}

// killThrice kills the fleet twice while pods run, and once while they end.
func (c *cluster) killThrice() {
	all := func() []corev1.Pod { return slices.Concat(c.pods("web"), c.pods("stays"), c.pods("agent")) }
	before := map[types.UID]corev1.Pod{}
	for _, pod := range all() {
		before[pod.UID] = pod
	}
	running := c.nodesWhere(nodeIsReady)
	for range 2 {
		c.killFleet()
		started := time.Now()
		c.startFleet()
		c.eventually("all leases are renewed by the next process", func() string {
			return unless(c.renewedOf(running, started), nodes)
		})
	}
	after := all()
	require.Len(c, after, len(before))
	for i := range after {
		was := before[after[i].UID]
		require.Equal(c, was.ResourceVersion, after[i].ResourceVersion, "pod %s was written", after[i].Name)
	}

	c.addReplicaSet("ends", 30, 5)
	c.eventually("30 more pods are ready", func() string { return unless(c.countReady("ends"), 30) })
	policy := metav1.DeletePropagationBackground
	require.NoError(c, c.client.AppsV1().ReplicaSets(metav1.NamespaceDefault).
		Delete(c.Context(), "ends", metav1.DeleteOptions{PropagationPolicy: &policy}))
	require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(c.Context(),
		metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=ends"}))
	c.killFleet()
	require.NotEmpty(c, c.pods("ends"), "some were still ending")
	c.startFleet()
	c.eventually("they have ended", func() string { return unless(len(c.pods("ends")), 0) })
}

// deleteMirror deletes the mirror pods of two nodes, with their grace period,
// the second while no process runs. They come again, and show the containers
// that run.
func (c *cluster) deleteMirror() {
	mirrors := c.pods("agent")[:2]
	for i, mirror := range mirrors {
		if i > 0 {
			c.killFleet()
		}
		require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).
			Delete(c.Context(), mirror.Name, metav1.DeleteOptions{}))
		if i > 0 {
			c.startFleet()
		}
		c.eventually("there is another one", func() string {
			for _, pod := range c.pods("agent") {
				if pod.Name == mirror.Name && pod.UID != mirror.UID && fleet.IsReady(&pod) {
					require.Equal(c, mirror.Status.ContainerStatuses[0].ContainerID, pod.Status.ContainerStatuses[0].ContainerID)
					return ""
				}
			}
			return "none that is ready"
		})
	}
}

// jobTime is how long the containers of both jobs run. The fleet is away for
// little longer, so that no node seems to be dead.
const jobTime = 8 * time.Second

// runJobs has one job succeed and one fail. The fleet is killed while the first
// runs, when it is complete, and while the second of three pods of the other
// runs. Final statuses are as before.
func (c *cluster) runJobs() {
	c.addJob("succeeds", 10, 0, map[string]string{domain + "run-time": jobTime.String()})
	c.killWhileAJobRuns("succeeds", func() bool { return len(runningContainers(c.pods("succeeds"))) >= 7 })
	c.eventually("one job is complete", func() string {
		return unless(c.jobCondition("succeeds"), "Complete CompletionsReached")
	})
	require.Len(c, c.pods("succeeds"), 10, "none was repeated")
	c.addJob("fails", 1, 2, map[string]string{domain + "run-time": jobTime.String(), domain + "exit-code": "3"})
	c.killFleet()
	final := map[types.UID]corev1.PodStatus{}
	for _, pod := range c.pods("succeeds") {
		require.Equal(c, corev1.PodSucceeded, pod.Status.Phase)
		final[pod.UID] = pod.Status
	}
	c.startFleet()
	c.killWhileAJobRuns("fails", func() bool {
		pods := c.pods("fails")
		return len(pods) == 2 && len(runningContainers(pods)) == 1
	})
	c.eventually("the other job has failed", func() string {
		return unless(c.jobCondition("fails"), "Failed BackoffLimitExceeded")
	})
	failed := c.pods("fails")
	require.Len(c, failed, 3, "the first and two retries")
	for i := range failed {
		require.Equal(c, corev1.PodFailed, failed[i].Status.Phase)
		require.EqualValues(c, 3, failed[i].Status.ContainerStatuses[0].State.Terminated.ExitCode)
		require.Zero(c, failed[i].Status.ContainerStatuses[0].RestartCount)
	}
	for _, pod := range c.pods("succeeds") {
		require.Equal(c, final[pod.UID], pod.Status)
	}
}

// killWhileAJobRuns kills the fleet when enough containers of the job run, and
// starts it when these have ended. Each has ended once, and at its time.
func (c *cluster) killWhileAJobRuns(job string, enough func() bool) {
	c.Helper()
	c.eventually("job "+job+" runs", func() string { return unless(enough(), true) })
	c.killFleet()
	before := runningContainers(c.pods(job))
	require.NotEmpty(c, before)
	var last time.Time
	for _, s := range before {
		if at := s.State.Running.StartedAt.Time; at.After(last) {
			last = at
		}
	}
	time.Sleep(time.Until(last.Add(jobTime + time.Second)))
	c.startFleet()
	ended := func(pod *corev1.Pod) bool {
		_, ran := before[pod.UID]
		return ran && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	}
	c.eventually("their ends are shown", func() string {
		shown := slices.DeleteFunc(c.pods(job), func(pod corev1.Pod) bool { return !ended(&pod) })
		return unless(len(shown), len(before))
	})
	for _, pod := range c.pods(job) {
		was, ran := before[pod.UID]
		if !ran {
			continue
		}
		s := &pod.Status.ContainerStatuses[0]
		require.Equal(c, was.ContainerID, s.ContainerID)
		require.Zero(c, s.RestartCount)
		require.Equal(c, was.State.Running.StartedAt.Add(jobTime), s.State.Terminated.FinishedAt.Time)
	}
	c.Logf("%d containers of %s have ended while no process ran", len(before), job)
}

func (c *cluster) addReplicaSet(name string, replicas int32, tolerated int64) {
	c.Helper()
	pod := template(name, map[string]string{domain + "start-time": "2s", domain + "stop-time": "2s"})
	pod.Spec.Tolerations = fleet.Tolerate(&tolerated)
	_, err := c.client.AppsV1().ReplicaSets(metav1.NamespaceDefault).Create(c.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: pod,
		},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
}

// addStaying gives each node a pod that stays whatever happens to the node.
func (c *cluster) addStaying() {
	c.Helper()
	for _, node := range c.nodes() {
		c.stay(node.Name)
	}
}

func stayingName(node string) string { return "stays-" + node }

func (c *cluster) stay(node string) *corev1.Pod {
	c.Helper()
	of := template("stays", nil)
	of.Spec.NodeName, of.Spec.Tolerations = node, fleet.Tolerate(nil)
	pod, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Create(c.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: stayingName(node), Labels: of.Labels}, Spec: of.Spec,
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return pod
}

func (c *cluster) countReady(app string) (n int) {
	c.Helper()
	for _, pod := range c.pods(app) {
		if fleet.IsReady(&pod) {
			n++
		}
	}
	return n
}

// wantNoConflict wants that the API server has accepted each status of a pod
// whose sender was alive when it was answered.
func (c *cluster) wantNoConflict() {
	calls := map[string]int{}
	requests := c.fleetRequests(controlplane.Filter{Resource: "*"}, nil)
	for i := range requests {
		r := &requests[i]
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		calls[fmt.Sprintf("%s %s %d", r.Verb, resource, r.Code)]++
		known := []int{0, http.StatusOK, http.StatusNotFound}
		if resource == "pods/status" && !slices.Contains(known, r.Code) && !c.abandoned(r) {
			c.Errorf("status of %s: %d, received %v and answered %v; the fleet was killed at %v", r.Name, r.Code,
				r.Received, r.Answered, *c.killed)
		}
	}
	require.Positive(c, calls["patch pods/status 200"])
	c.Logf("calls of the fleet: %v", calls)
}

// fleetAgent is the user agent of the fleet. That of this test begins like it.
const fleetAgent = "hollownode"

// fleetRequests returns the requests of the fleet that a filter and a function,
// unless it is nil, select.
func (c *cluster) fleetRequests(
	filter controlplane.Filter, are func(*controlplane.Request) bool,
) []controlplane.Request {
	c.Helper()
	return c.requestsOf(fleetAgent, filter, are)
}

// requestsOf is fleetRequests for a client with exactly this user agent.
func (c *cluster) requestsOf(
	agent string, filter controlplane.Filter, are func(*controlplane.Request) bool,
) []controlplane.Request {
	c.Helper()
	filter.UserAgent = agent
	requests, err := c.plane.Requests(c.Context(), filter)
	require.NoError(c, err)
	return slices.DeleteFunc(requests, func(r controlplane.Request) bool {
		return r.UserAgent != agent || are != nil && !are(&r)
	})
}

// abandoned says whether the fleet was killed while the API server worked on a
// request. The answer then has no reader. In the audit log it is 504, or 500 if
// the call of the storage has ended as well, because its context has. Source:
// finishRequest in k8s.io/apiserver pkg/endpoints/handlers/finisher, v0.37.1.
func (c *cluster) abandoned(r *controlplane.Request) bool {
	failed := r.Code == http.StatusGatewayTimeout || r.Code == http.StatusInternalServerError
	return failed && slices.ContainsFunc(*c.killed, func(at time.Time) bool {
		return r.Received.Before(at.Add(killing)) && r.Answered.After(at)
	})
}

// unless returns what there is if that is not what is wanted.
func unless[T comparable](is, want T) string {
	if is == want {
		return ""
	}
	return fmt.Sprintf("%v, want %v", is, want)
}
