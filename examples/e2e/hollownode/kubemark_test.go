package hollownode

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

const (
	oursNode, theirsNode = "ours-00001", "theirs"
	// admittedStories is how many pods a node has room for: those of the stories
	// that are admitted together.
	admittedStories                         = 6
	gated           corev1.PodConditionType = "example.com/gate"
)

// A story is a pod that each of the two nodes gets.
type story struct {
	name   string
	change func(*corev1.Pod)
	// settled reports whether the pod waits for what the story does next.
	settled func(*corev1.Pod) bool
	// act is done to both pods at once. Nil means nothing.
	act func(c *cluster, pod string)
	// ends reports that the pod goes. Else it stays with a final phase.
	ends bool
}

// A side is the node of one kubelet and what runs it.
type side struct {
	name, node string
	start      func()
	process    *controlplane.Process
	// manifests is the folder of its static pods.
	manifests string
}

// pod returns the name of the pod of a story.
func (s *side) pod(story string) string {
	if story == staticStory {
		return story + "-" + s.node
	}
	return story + "-" + s.name
}

// The pods of each story go through the same states on a hollow node and on
// kubemark. Left out are probes and sidecars, because kubemark's probes are
// fake. Restarts are left out because its containers never exit by themselves,
// and all end with its process. So both processes start again when no container
// runs.
func TestPodsOnAHollowNodeAndOnKubemark(t *testing.T) {
	c := newPlane(t)
	theirs := c.startKubemark()
	ours := c.startBeside(theirs)
	c.awaitReady(2)
	c.taintBoth()
	recorder := c.record()
	rejected, together, late := rejectedStories(), admittedTogether(), []story{afterwards()}
	c.settle(rejected)
	c.settle(together)
	c.settle([]story{overflow()})
	c.finish(together)
	c.settle([]story{deadline()})
	c.clear(together)
	c.runStatic(ours, theirs)
	c.restartBoth(late, ours, theirs)
	c.finish(late)
	stories := slices.Concat(rejected, together, late, []story{overflow(), deadline(), {name: staticStory}})
	for _, s := range stories {
		recorder.compare(c, ours.pod(s.name), theirs.pod(s.name))
		c.wantEvents(s.name, ours.pod(s.name))
	}
	for i, d := range differences {
		shows := slices.ContainsFunc(stories, func(s story) bool {
			return !slices.Equal(recorder.neutral(ours.pod(s.name), i), recorder.neutral(theirs.pod(s.name), i))
		})
		require.True(t, shows, "listed, and it does not occur any more: %s", d.name)
	}
	recorder.wantKnownFleeting(c, stories, ours, theirs)
}

// neutral returns what the sequence of a pod is compared by.
func (r *recorder) neutral(pod string, without int) []string {
	return neutral(r.sequence(pod), without)
}

// compare waits until the watch has shown the same of both pods of a story. It
// may be behind what a read has shown.
func (r *recorder) compare(c *cluster, ourPod, theirPod string) {
	c.Helper()
	var ours, theirs []string
	for range 50 {
		ours, theirs = r.neutral(ourPod, -1), r.neutral(theirPod, -1)
		if slices.Equal(ours, theirs) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.NotEmpty(c, theirs)
	require.Equal(c, strings.Join(theirs, "\n"), strings.Join(ours, "\n"), "%s: kubemark's states and ours\n%s\n%s",
		ourPod, lines(r.sequence(theirPod)), lines(r.sequence(ourPod)))
	c.Logf("%s: %d states, %d compared", ourPod, len(r.sequence(ourPod)), len(ours))
}

// wantKnownFleeting wants that each fleeting state of ours is one that kubemark
// has shown of some pod. Which of them are seen of one pod is a matter of time.
func (r *recorder) wantKnownFleeting(c *cluster, stories []story, ours, theirs *side) {
	c.Helper()
	known, seen := sets.New[string](), sets.New[string]()
	for _, s := range stories {
		known.Insert(fleetingOf(r.sequence(theirs.pod(s.name)))...)
		seen.Insert(fleetingOf(r.sequence(ours.pod(s.name)))...)
	}
	require.NotEmpty(c, seen)
	require.Empty(c, sets.List(seen.Difference(known)), "of ours; kubemark's are\n%s",
		strings.Join(sets.List(known), "\n"))
	c.Logf("%d fleeting states, %d of kubemark", len(seen), len(known))
}

func lines(states []podState) string {
	var all []string
	for _, s := range states {
		all = append(all, s.String())
	}
	return strings.Join(all, "\n")
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

// settle creates the pods of some stories on both nodes, and waits until they
// have settled.
func (c *cluster) settle(stories []story) {
	c.Helper()
	c.createPods(stories)
	c.awaitSettled(stories)
}

func (c *cluster) createPods(stories []story) {
	c.Helper()
	for _, s := range stories {
		for side, node := range map[string]string{"ours": oursNode, "theirs": theirsNode} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-" + side}, Spec: template("", nil).Spec}
			pod.Spec.NodeName = node
			pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			s.change(pod)
			_, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Create(c.Context(), pod, metav1.CreateOptions{})
			require.NoError(c, err)
		}
	}
}

func (c *cluster) awaitSettled(stories []story) {
	c.Helper()
	for _, s := range stories {
		c.eventually(s.name+" has settled on both", func() string {
			return unless(c.count(s, s.settled), 2)
		})
	}
}

// finish does to pods what their stories say, and waits for the end.
func (c *cluster) finish(stories []story) {
	c.Helper()
	for _, s := range stories {
		for _, side := range []string{"ours", "theirs"} {
			s.act(c, s.name+"-"+side)
		}
	}
	for _, s := range stories {
		c.eventually(s.name+" has ended on both", func() string {
			if s.ends {
				return unless(c.count(s, func(*corev1.Pod) bool { return true }), 0)
			}
			return unless(c.count(s, isUp), 2)
		})
	}
}

// clear deletes the pods of stories that have not ended, and waits for the end.
func (c *cluster) clear(stories []story) {
	c.Helper()
	for _, s := range stories {
		if s.ends {
			continue
		}
		for _, side := range []string{"ours", "theirs"} {
			deleteWith(5)(c, s.name+"-"+side)
		}
		c.eventually(s.name+" is gone from both", func() string {
			return unless(c.count(s, func(*corev1.Pod) bool { return true }), 0)
		})
	}
}

func (c *cluster) count(s story, is func(*corev1.Pod) bool) (n int) {
	c.Helper()
	for _, side := range []string{"ours", "theirs"} {
		pod, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Get(c.Context(), s.name+"-"+side, metav1.GetOptions{})
		if err == nil && is(pod) {
			n++
		}
	}
	return n
}

// isUp reports whether a pod is ready and its containers run. On kubemark it is
// ready while they are being created.
func isUp(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning && isReady(pod) }

func isFailed(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed }

// rejectedStories are of pods that the node does not take.
func rejectedStories() []story {
	tooMuch := func(name string, what corev1.ResourceName, amount string) story {
		return story{name: name, settled: isFailed, change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{what: resource.MustParse(amount)}
		}}
	}
	return []story{
		tooMuch("cpu", corev1.ResourceCPU, "1000"),
		tooMuch("memory", corev1.ResourceMemory, "1Pi"),
		tooMuch("storage", corev1.ResourceEphemeralStorage, "1Ei"),
		// Both nodes have a taint that the other pods tolerate.
		{name: "taint", settled: isFailed, change: func(p *corev1.Pod) { p.Spec.Tolerations = nil }},
		{name: "affinity", settled: isFailed, change: func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"example.com/disk": "ssd"}
		}},
		{name: "system", settled: isFailed, change: func(p *corev1.Pod) {
			p.Labels = map[string]string{corev1.LabelOSStable: "windows"}
		}},
	}
}

// afterwards is of a pod that comes while neither kubelet runs.
func afterwards() story {
	return story{name: "afterwards", settled: isUp, change: func(*corev1.Pod) {}, act: deleteWith(5), ends: true}
}

// overflow is of a pod for which the node has no room.
func overflow() story {
	return story{name: "overflow", settled: isFailed, change: func(*corev1.Pod) {}}
}

// deadline is of a pod that is active for too long.
func deadline() story {
	return story{name: "deadline", settled: isFailed, change: func(p *corev1.Pod) {
		p.Spec.ActiveDeadlineSeconds = new(int64(4))
		// It takes 2 s to stop, so that both show what holds meanwhile. The
		// annotation is for a hollow node.
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 2}},
		}
		p.Annotations = map[string]string{domain + "pre-stop-time": "2s"}
	}}
}

// deleteWith deletes a pod.
func deleteWith(grace int64) func(*cluster, string) {
	return func(c *cluster, pod string) {
		c.Helper()
		require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(c.Context(), pod,
			metav1.DeleteOptions{GracePeriodSeconds: &grace}))
	}
}

// admittedTogether are of pods that run until they are deleted.
func admittedTogether() []story {
	return []story{
		{name: "plain", settled: isUp, change: func(*corev1.Pod) {}, act: deleteWith(5), ends: true},
		{name: "two", settled: isUp, act: deleteWith(5), ends: true, change: func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "second", Image: "example.invalid/second"})
		}},
		{name: "init", act: deleteWith(5), ends: true, change: func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "example.invalid/init"}}
		}, settled: func(p *corev1.Pod) bool {
			return len(p.Status.InitContainerStatuses) == 1 && p.Status.InitContainerStatuses[0].State.Running != nil
		}},
		{name: "hooks", settled: isUp, act: deleteWith(30), ends: true, change: func(p *corev1.Pod) {
			exec := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec, PreStop: exec}
		}},
		{name: "forced", settled: isUp, act: deleteWith(0), ends: true, change: func(*corev1.Pod) {}},
		{name: "gate", change: func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gated}}
		}, settled: func(p *corev1.Pod) bool {
			return p.Status.Phase == corev1.PodRunning && !isReady(p)
		}, act: func(c *cluster, pod string) {
			c.Helper()
			patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":"True"}]}}`, gated)
			_, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Patch(c.Context(), pod,
				types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			require.NoError(c, err)
		}},
	}
}
