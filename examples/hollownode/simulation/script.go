package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/cluster"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

func nodeName(i int) string { return fmt.Sprint("node-", i) }
func podName(i int) string  { return fmt.Sprint("pod-", i) }

// actions returns what each action does.
func (w *World) actions() map[Action]func(Step) {
	return map[Action]func(Step){
		ActionCreatePod:   w.createPod,
		ActionDeletePod:   func(step Step) { w.Delete(network.Pods, podName(step.Pod), graceOf(step)) },
		ActionForceDelete: func(step Step) { w.Delete(network.Pods, podName(step.Pod), new(int64)) },
		ActionRecreatePod: func(step Step) {
			w.Delete(network.Pods, podName(step.Pod), new(int64))
			w.createPod(step)
		},
		ActionSetImage: w.onPod(func(pod *corev1.Pod, step Step) {
			const patch = `[{"op": "replace", "path": "/spec/containers/0/image", "value": "image-%d"}]`
			_ = w.Users().Patch(network.Pods.Resource(), types.JSONPatchType, fmt.Appendf(nil, patch, step.N%4), pod.Name)
		}),
		ActionCrash: w.onPod(func(pod *corev1.Pod, step Step) {
			w.runtime.Crash(w.Now(), pod.UID, pod.Spec.Containers[0].Name, int32(step.N%3))
			w.process.Wake()
		}),
		ActionOverwrite: w.onPod(func(pod *corev1.Pod, _ Step) { w.showNotReady(pod) }),
		ActionFailPod:   w.onPod(func(pod *corev1.Pod, _ Step) { w.failPod(pod) }),
		ActionOpenGate: w.onPod(func(pod *corev1.Pod, step Step) {
			w.changePod(pod, func(pod *corev1.Pod) { w.setGate(pod, step.N%3 > 0) })
		}),

		ActionSetStatic:    w.setStatic,
		ActionDeleteMirror: func(step Step) { w.Delete(network.Pods, mirrorName(step), graceOf(step)) },
		ActionFailMirror:   w.onMirror(func(mirror *corev1.Pod, _ Step) { w.failPod(mirror) }),
		ActionCrashStatic:  w.onMirror(w.crashStatic),

		ActionSilence:     w.silence,
		ActionRuntimeDown: w.nodeFault(kubelet.AnnotationRuntimeDown, func(Step) string { return "true" }),
		ActionNetworkDown: w.nodeFault(kubelet.AnnotationNetworkDown, func(Step) string { return "true" }),
		ActionPressure: func(step Step) {
			kind := []string{
				kubelet.AnnotationMemoryPressure, kubelet.AnnotationDiskPressure, kubelet.AnnotationPIDPressure,
			}[step.N%3]
			w.nodeFault(kind, func(Step) string { return "true" })(step)
		},
		ActionSlowNode: w.nodeFault(kubelet.AnnotationAPILatency, func(step Step) string {
			return fmt.Sprintf("%ds", 1+step.N)
		}),
		ActionFailingNode: w.nodeFault(kubelet.AnnotationAPIFailures, func(Step) string { return "0.5" }),
		ActionLoseEvents:  w.loseEvents,
		ActionReboot:      func(step Step) { w.annotate(nodeName(step.Node), kubelet.AnnotationBoot, w.number()) },
		ActionRestartKubelet: func(step Step) {
			w.annotate(nodeName(step.Node), kubelet.AnnotationStart, w.number())
		},
		ActionReplaceNode: w.replaceNode,

		ActionErrors: w.strike("errors", func(share float64) (end func()) {
			return w.RefuseCalls(share, refusals, func(call *network.Call) bool { return call.Verb != network.List })
		}),
		ActionLoseAnswers: w.strike("lost answers", func(share float64) (end func()) { return w.ResetAnswers(share) }),
		ActionSlowCalls: w.strike("slow calls", func(share float64) (end func()) {
			return w.DetainCalls(share, network.Span{Min: time.Second, Max: slowest})
		}),
		ActionLate: func(step Step) {
			by := time.Duration(step.N) * time.Second
			w.After(step.For, w.DelayWatches(network.Span{Min: by / 4, Max: by}, network.OfKind(step.Kind)))
			w.faulty("late watch", step.For+by)
		},
		ActionGap:       w.interrupt,
		ActionKill:      func(step Step) { w.restart(step, false) },
		ActionKillFleet: func(step Step) { w.restart(step, true) },
	}
}

// graceOf returns the grace period of a deletion, or nil for the pod's own.
func graceOf(step Step) *int64 {
	if seconds := []int64{-1, -1, 2, 10, 60}[step.N%5]; seconds >= 0 {
		return &seconds
	}
	return nil
}

// failPod shows a pod as failed, as the garbage collector of pods does.
func (w *World) failPod(pod *corev1.Pod) {
	w.changePod(pod, func(pod *corev1.Pod) {
		if !final(pod) {
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "PodGC"
		}
	})
}

// final reports whether the phase of a pod is final.
func final(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// changePod changes a pod.
func (w *World) changePod(pod *corev1.Pod, change func(*corev1.Pod)) {
	cluster.Edit(w.Cluster, network.Pods, pod, change)
}

// node returns a node, or nil.
func (w *World) node(name string) *corev1.Node {
	return cluster.Get[*corev1.Node](w.Cluster, network.Nodes, name)
}

// pod returns a pod, or nil.
func (w *World) pod(name string) *corev1.Pod {
	return cluster.Get[*corev1.Pod](w.Cluster, network.Pods, name)
}

// number returns a text that was not used yet.
func (w *World) number() string {
	w.numbers++
	return fmt.Sprint(w.numbers)
}

func (w *World) createPod(step Step) {
	if w.node(nodeName(step.Node)) == nil {
		return // nothing binds a pod to it
	}
	pod := podOf(step.N, podName(step.Pod), nodeName(step.Node))
	_ = w.Users().Create(network.Pods.Resource(), pod) // there may be one
}

// onPod returns an action on a pod that exists.
func (w *World) onPod(do func(*corev1.Pod, Step)) func(Step) {
	return func(step Step) {
		if pod := w.pod(podName(step.Pod)); pod != nil {
			do(pod, step)
		}
	}
}

// showNotReady shows a pod as not ready, as the node lifecycle controller does.
func (w *World) showNotReady(pod *corev1.Pod) {
	w.changePod(pod, func(pod *corev1.Pod) {
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(w.Now().Truncate(time.Second))
			}
		}
	})
}

func (w *World) setGate(pod *corev1.Pod, open bool) {
	if len(pod.Spec.ReadinessGates) == 0 {
		return
	}
	gate := corev1.PodCondition{Type: pod.Spec.ReadinessGates[0].ConditionType, Status: corev1.ConditionFalse}
	if open {
		gate.Status = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == gate.Type {
			pod.Status.Conditions[i] = gate
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, gate)
}

// nodeFault returns an action that annotates a node for a time.
func (w *World) nodeFault(annotation string, value func(Step) string) func(Step) {
	return func(step Step) {
		name := nodeName(step.Node)
		w.annotate(name, annotation, value(step))
		w.After(step.For, func() { w.annotate(name, annotation, "") })
	}
}

// graceOfNodes is after which silence the pods of a node are shown as not
// ready.
const graceOfNodes = 40 * time.Second

func (w *World) silence(step Step) {
	w.nodeFault(kubelet.AnnotationSilent, func(Step) string { return "true" })(step)
	if step.For <= graceOfNodes {
		return
	}
	w.After(graceOfNodes, func() {
		node := w.node(nodeName(step.Node))
		if node == nil || node.Annotations[cri.AnnotationDomain+"/"+kubelet.AnnotationSilent] == "" {
			return
		}
		for _, pod := range w.Pods() {
			if pod.Spec.NodeName == node.Name {
				w.showNotReady(pod)
			}
		}
	})
}

func (w *World) replaceNode(step Step) {
	name := nodeName(step.Node)
	if w.node(name) == nil {
		return
	}
	w.Delete(network.Nodes, name, nil)
	w.After(w.between(0, step.For), func() { // the garbage collector of pods
		for _, pod := range w.Pods() {
			if pod.Spec.NodeName == name {
				w.Delete(network.Pods, pod.Name, new(int64))
			}
		}
		w.addNode(name)
	})
}

// longestRelist is how long a kubelet takes at most to find what its runtime
// has not told.
const longestRelist = 8 * time.Minute

// loseEvents makes the present runtime lose what it would tell.
func (w *World) loseEvents(step Step) {
	runtime := w.runtime
	if runtime == nil {
		return
	}
	runtime.mute++
	w.faulty("lost events", step.For+longestRelist)
	w.After(step.For, func() { runtime.mute-- })
}

// refusals are the status codes of errors: too many requests, a conflict, a
// proxy without a backend, an API server that ends, an etcd without a leader.
// Zero is a connection that breaks.
var refusals = []int{0, 429, 409, 404, 503, 500}

// slowest is how long a call takes at the most, one way. Some are given up.
const slowest = 40 * time.Second

// strike makes a fault strike a quarter, a half or all of the calls.
func (w *World) strike(what string, begin func(share float64) (end func())) func(Step) {
	return func(step Step) {
		w.After(step.For, begin([]float64{0.25, 0.5, 1}[step.N%3]))
		w.faulty(what, step.For+callTimeout)
	}
}

// oldest is how old the list may be with which a watch begins again.
const oldest = 5 * time.Second

// interrupt makes the watch of a kind miss everything for a time. Then it lists
// what there was up to 5 s before.
func (w *World) interrupt(step Step) {
	if w.process.Stopped() {
		return
	}
	mend := w.BreakWatches(network.OfKind(step.Kind))
	w.faulty("gap", step.For+time.Second)
	age := min(w.between(0, oldest), step.For)
	w.After(step.For-age, func() {
		past := w.Remember()
		w.After(age, func() {
			end := w.ListPast(past, network.OfKind(step.Kind))
			mend()
			w.After(time.Second, func() {
				end()
				past.Forget()
			})
		})
	})
}

// restart ends the process, and its runtime too if all ends. Another one begins
// after a time.
func (w *World) restart(step Step, all bool) {
	if w.process.Stopped() {
		return
	}
	w.kill(all)
	w.faulty("no process", step.For+time.Second)
	w.After(step.For, func() {
		// It cannot fail, because the first start did not, with the same settings.
		if err := w.Begin(); err != nil {
			panic(err)
		}
	})
}
