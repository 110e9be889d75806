package kubelet

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// A podLife is a pod, what is done with it after 10 s, and what a kubelet shows
// and tells of it.
type podLife struct {
	name        string
	change      func(pod *corev1.Pod)
	annotations []string
	act         func(w *world)
	// states are the statuses that are written, and events the reasons that are
	// told, without the pull of the image.
	states []string
	events string
}

const (
	// stateUp is the state of a pod with a container that runs.
	stateUp = "Running ready c:running"
	// eventsUp are the events of a container that starts.
	eventsUp = "Pulled Created Started"
)

// endedBy returns a final state with the conditions that it has. The reason is
// why the pod is not ready.
func endedBy(state, reason string) string {
	return state + " | PodReadyToStartContainers=PodSandboxNotReady, Ready=" + reason + ", ContainersReady=" + reason
}

// deletedWithin deletes a pod with a grace period.
func deletedWithin(grace int64) func(w *world) { return func(w *world) { w.delete("a", grace) } }

// rejectedPods are those that a node does not take. They have no conditions,
// and a kubelet that starts again writes nothing of them.
func rejectedPods() []podLife {
	requests := func(name corev1.ResourceName, amount string) func(pod *corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(amount)}
		}
	}
	lives := []podLife{
		{name: "cpu", change: requests(corev1.ResourceCPU, "1000"), events: "OutOfcpu"},
		{name: "memory", change: requests(corev1.ResourceMemory, "1Pi"), events: "OutOfmemory"},
		{name: "storage", change: requests(corev1.ResourceEphemeralStorage, "1Ei"), events: "OutOfephemeral-storage"},
		{name: "taint", change: func(pod *corev1.Pod) { pod.Spec.Tolerations = nil }, events: "TaintToleration"},
		{name: "affinity", change: func(pod *corev1.Pod) {
			pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		}, events: "NodeAffinity"},
	}
	for i := range lives {
		lives[i].act = func(w *world) { w.restartKubelet("node") }
		lives[i].states = []string{"Failed " + lives[i].events + " | none"}
	}
	return lives
}

// admittedPods are those that a node takes.
func admittedPods() []podLife {
	exec := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
	return []podLife{
		{
			name: "one container", act: deletedWithin(5), events: eventsUp + " Killing",
			states: []string{stateUp, endedBy("Succeeded c:exited=0", "PodCompleted"), "deleted"},
		},
		{
			name: "two containers", act: deletedWithin(5), change: func(pod *corev1.Pod) {
				pod.Spec.Containers = append(pod.Spec.Containers, container("d", nil))
			},
			states: []string{
				stateUp + " d:running", endedBy("Succeeded c:exited=0 d:exited=0", "PodCompleted"), "deleted",
			},
			events: eventsUp + " " + eventsUp + " Killing Killing",
		},
		{
			name: "deleted during an init container", act: deletedWithin(5),
			change: func(pod *corev1.Pod) {
				pod.Spec.InitContainers = []corev1.Container{container("i", nil)}
			},
			annotations: []string{"i:run-time", "forever"},
			states: []string{
				"Pending i:running c:PodInitializing | Initialized=ContainersNotInitialized, " +
					"Ready=ContainersNotReady, ContainersReady=ContainersNotReady",
				// The container that has not begun has not ended either.
				endedBy("Failed i:exited=0 c:PodInitializing", "ContainersNotReady"),
				"deleted",
			},
			events: eventsUp + " Killing",
		},
		{
			name: "hooks", act: deletedWithin(30), annotations: []string{"pre-stop-time", "2s"},
			change: func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec, PreStop: exec}
			},
			states: []string{stateUp, endedBy("Succeeded c:exited=0", "PodCompleted"), "deleted"},
			events: eventsUp + " Killing",
		},
		{
			name: "forced", act: func(w *world) { w.drop("a") }, // by a deletion without a grace period
			states: []string{stateUp}, events: eventsUp + " Killing",
		},
		{
			name: "a readiness gate opens", change: func(pod *corev1.Pod) {
				pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
			},
			act: func(w *world) {
				pod := w.pods["a"].DeepCopy()
				pod.Status.Conditions = append(pod.Status.Conditions,
					corev1.PodCondition{Type: "gate", Status: corev1.ConditionTrue})
				w.observe(pod)
			},
			states: []string{"Running c:running | Ready=ReadinessGatesNotReady", stateUp},
			events: eventsUp,
		},
		{
			// While its containers stop its phase is not final, and it is not ready.
			name: "a deadline", annotations: []string{"pre-stop-time", "2s"}, change: func(pod *corev1.Pod) {
				pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](4)
				pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: exec}
			},
			states: []string{
				stateUp, "Running c:running | Ready=PodFailed, ContainersReady=PodFailed",
				endedBy("Failed DeadlineExceeded c:exited=0", "PodFailed"),
			},
			events: eventsUp + " DeadlineExceeded Killing",
		},
		{
			name: "it comes while no kubelet runs", change: func(pod *corev1.Pod) { pod.Spec.NodeName = "later" },
			act: func(w *world) {
				w.restart()
				w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "later"}})
				w.observe(w.pods["a"])
				w.run(10 * time.Second)
				w.delete("a", 5)
			},
			states: []string{stateUp, endedBy("Succeeded c:exited=0", "PodCompleted"), "deleted"},
			events: eventsUp + " Killing",
		},
	}
}

// Kubemark, which is the kubelet v1.37.1 with a runtime that runs nothing, has
// shown the same states of these pods next to a hollow node. It knows nothing
// of the readiness of init containers, and drops events: they are those of the
// kubelet's source.
func TestAPodHasTheStatesAndEventsThatTheKubeletGivesIt(t *testing.T) {
	for _, life := range append(rejectedPods(), admittedPods()...) {
		t.Run(life.name, func(t *testing.T) {
			w, all := newEventWorld(t)
			w.fleet.ObserveNode(w.now, &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{corev1.LabelOSStable: "linux"}},
				Spec: corev1.NodeSpec{Taints: []corev1.Taint{
					{Key: "example.com/closed", Effect: corev1.TaintEffectNoExecute},
				}},
				Status: corev1.NodeStatus{Allocatable: defaultCapacity()},
			})
			w.run(time.Second)
			all.events = nil
			var states []string
			w.refuse = func(task Task) bool {
				states = append(states, stateOf(task))
				return false
			}
			w.pod("a", func(pod *corev1.Pod) {
				pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				if life.change != nil {
					life.change(pod)
				}
			}, life.annotations...)
			w.run(10 * time.Second)
			if life.act != nil {
				life.act(w)
			}
			w.run(time.Minute)
			assert.Equal(t, life.states, states)
			var events []string
			for _, e := range all.events {
				if e.Object.Kind == "Pod" && e.Reason != toldPulling {
					events = append(events, e.Reason)
				}
			}
			assert.Equal(t, life.events, strings.Join(events, " "))
		})
	}
}

// stateOf returns what a task writes of a pod: its status, and behind a bar the
// conditions that are not True, with their reasons.
func stateOf(task Task) string {
	if task.Kind == TaskDeletePod {
		return "deleted"
	}
	if len(task.Status.Conditions) == 0 {
		return describeStatus(&task.Status) + " | none"
	}
	var others []string
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady,
		corev1.PodScheduled,
	} {
		switch c := findCondition(&task.Status, kind); {
		case c == nil:
			others = append(others, "no "+string(kind))
		case c.Status == corev1.ConditionFalse:
			others = append(others, string(kind)+"="+c.Reason)
		}
	}
	if len(others) == 0 {
		return describeStatus(&task.Status)
	}
	return describeStatus(&task.Status) + " | " + strings.Join(others, ", ")
}

func TestSandboxesThatFailAreCreatedAgainUnlessTheirPodEnds(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "sandbox-failures", "2")
	w.pod("ends", nil, "sandbox-failures", "all", "sandbox-time", "5s")
	w.run(time.Second)
	w.delete("ends", 30)
	w.run(time.Minute)
	assert.Empty(t, w.pods["ends"])
	assert.Equal(t, corev1.PodRunning, w.status("a").Phase)
	assert.Equal(t, 4, w.runtime.sandboxes)
}
