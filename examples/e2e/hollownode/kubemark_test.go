package hollownode

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// The pods of each story go through the same states on a hollow node and on
// kubemark. Left out are probes and sidecars, because kubemark's probes are
// fake. Restarts are left out because its containers never exit by themselves.
func TestPodsOnAHollowNodeAndOnKubemark(t *testing.T) {
	c := newPlane(t)
	c.startKubemark()
	capacity := c.nodeOf(theirsNode).Status.Allocatable
	var sizes []string
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods,
	} {
		sizes = append(sizes, fmt.Sprintf("%s=%s", name, capacity.Name(name, resource.DecimalSI)))
	}
	c.startNodes("--nodes=1", "--name-prefix=ours", "--capacity="+strings.Join(sizes, ","))
	c.eventually("both nodes are ready", func() string {
		ready := 0
		for _, name := range []string{oursNode, theirsNode} {
			if node := c.nodeOf(name); node != nil && nodeIsReady(node) {
				ready++
			}
		}
		return unless(ready, 2)
	})
	recorder := c.record()
	together := admittedTogether()
	c.settle(rejectedStories())
	c.settle(together)
	c.settle([]story{overflow()})
	c.finish(together)
	c.settle([]story{deadline()})
	stories := append(append(rejectedStories(), together...), overflow(), deadline())
	for _, s := range stories {
		recorder.compare(c, s.name)
		c.wantEvents(s.name)
	}
	for i, d := range differences {
		shows := slices.ContainsFunc(stories, func(s story) bool {
			ours, theirs := recorder.both(s.name, i)
			return !slices.Equal(ours, theirs)
		})
		require.True(t, shows, "listed, and it does not occur any more: %s", d.name)
	}
}

// both returns the sequences of a story.
func (r *recorder) both(story string, without int) (ours, theirs []string) {
	return neutral(r.sequence(story+"-ours"), without), neutral(r.sequence(story+"-theirs"), without)
}

// compare waits until the watch has shown the same of both pods of a story. It
// may be behind what a read has shown.
func (r *recorder) compare(c *cluster, story string) {
	c.Helper()
	var ours, theirs []string
	for range 50 {
		if ours, theirs = r.both(story, -1); slices.Equal(ours, theirs) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.NotEmpty(c, theirs)
	require.Equal(c, strings.Join(theirs, "\n"), strings.Join(ours, "\n"), "%s: kubemark's states and ours\n%s\n%s",
		story, lines(r.sequence(story+"-theirs")), lines(r.sequence(story+"-ours")))
	c.Logf("%s: %d states, %d compared", story, len(r.sequence(story+"-ours")), len(ours))
}

func lines(states []podState) string {
	var all []string
	for _, s := range states {
		all = append(all, s.String())
	}
	return strings.Join(all, "\n")
}

// startKubemark starts the real kubelet, and removes the folder that it makes.
func (c *cluster) startKubemark() {
	c.Helper()
	built, err := controlplane.Build(c.Context(), controlplane.BuildConfig{Progress: c.Output()}, controlplane.Kubemark)
	require.NoError(c, err)
	process := c.launch("kubemark", built[controlplane.Kubemark], "--morph=kubelet", "--name="+theirsNode,
		"--use-host-image-service=false", "--kubelet-port="+c.port(), "--kubelet-read-only-port=0",
		fmt.Sprintf("--max-pods=%d", admittedStories))
	c.Cleanup(func() {
		process.Kill()
		root := regexp.MustCompile(`Using (\S+) as root dir`).FindStringSubmatch(process.LogTail(1_000_000))
		if len(root) == 2 {
			require.NoError(c, os.RemoveAll(root[1]))
		}
	})
	c.eventually("kubemark has registered its node", func() string {
		return unless(c.nodeOf(theirsNode) != nil, true)
	})
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
			return unless(c.count(s, isReady), 2)
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

func isFailed(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed }

// rejectedStories are of pods that the node does not take.
func rejectedStories() []story {
	return []story{
		{name: "cpu", settled: isFailed, change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
		}},
		{name: "affinity", settled: isFailed, change: func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"example.com/disk": "ssd"}
		}},
		{name: "system", settled: isFailed, change: func(p *corev1.Pod) {
			p.Labels = map[string]string{corev1.LabelOSStable: "windows"}
		}},
	}
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

// admittedTogether are of pods that run until they are deleted.
func admittedTogether() []story {
	del := func(grace int64) func(*cluster, string) {
		return func(c *cluster, pod string) {
			c.Helper()
			require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(c.Context(), pod,
				metav1.DeleteOptions{GracePeriodSeconds: &grace}))
		}
	}
	return []story{
		{name: "plain", settled: isReady, change: func(*corev1.Pod) {}, act: del(5), ends: true},
		{name: "two", settled: isReady, act: del(5), ends: true, change: func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "second", Image: "example.invalid/second"})
		}},
		{name: "init", act: del(5), ends: true, change: func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "example.invalid/init"}}
		}, settled: func(p *corev1.Pod) bool {
			return len(p.Status.InitContainerStatuses) == 1 && p.Status.InitContainerStatuses[0].State.Running != nil
		}},
		{name: "hooks", settled: isReady, act: del(30), ends: true, change: func(p *corev1.Pod) {
			exec := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec, PreStop: exec}
		}},
		{name: "forced", settled: isReady, act: del(0), ends: true, change: func(*corev1.Pod) {}},
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
