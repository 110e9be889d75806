package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

func nodeName(i int) string { return fmt.Sprint("node-", i) }
func podName(i int) string  { return fmt.Sprint("pod-", i) }

// actions returns what each action does.
func (s *simulation) actions() map[Action]func(Step) {
	return map[Action]func(Step){
		ActionCreatePod:   s.createPod,
		ActionDeletePod:   func(step Step) { s.deletePod(podName(step.Pod), graceOf(step)) },
		ActionForceDelete: func(step Step) { s.deletePod(podName(step.Pod), new(int64)) },
		ActionRecreatePod: func(step Step) {
			s.deletePod(podName(step.Pod), new(int64))
			s.createPod(step)
		},
		ActionSetImage: s.onPod(func(pod *corev1.Pod, step Step) {
			next := pod.DeepCopy()
			next.Spec.Containers[0].Image = fmt.Sprint("image-", step.N%4)
			_, _ = s.server.Update(s.Now(), resourceOf(invariant.Pods), Namespace, next, apiserver.WriteOptions{})
		}),
		ActionCrash: s.onPod(func(pod *corev1.Pod, step Step) {
			s.runtime.Crash(s.Now(), pod.UID, pod.Spec.Containers[0].Name, int32(step.N%3))
			s.process.wake()
		}),
		ActionOverwrite: s.onPod(func(pod *corev1.Pod, _ Step) { s.showNotReady(pod) }),
		ActionFailPod:   s.onPod(func(pod *corev1.Pod, _ Step) { s.failPod(pod) }),
		ActionOpenGate: s.onPod(func(pod *corev1.Pod, step Step) {
			s.changePod(pod, func(pod *corev1.Pod) { s.setGate(pod, step.N%3 > 0) })
		}),

		ActionSetStatic:    s.setStatic,
		ActionDeleteMirror: func(step Step) { s.deletePod(mirrorName(step), graceOf(step)) },
		ActionFailMirror:   s.onMirror(func(mirror *corev1.Pod, _ Step) { s.failPod(mirror) }),
		ActionCrashStatic:  s.onMirror(s.crashStatic),

		ActionSilence:     s.silence,
		ActionRuntimeDown: s.nodeFault(kubelet.AnnotationRuntimeDown, func(Step) string { return "true" }),
		ActionNetworkDown: s.nodeFault(kubelet.AnnotationNetworkDown, func(Step) string { return "true" }),
		ActionPressure: func(step Step) {
			kind := []string{
				kubelet.AnnotationMemoryPressure, kubelet.AnnotationDiskPressure, kubelet.AnnotationPIDPressure,
			}[step.N%3]
			s.nodeFault(kind, func(Step) string { return "true" })(step)
		},
		ActionSlowNode: s.nodeFault(kubelet.AnnotationAPILatency, func(step Step) string {
			return fmt.Sprintf("%ds", 1+step.N)
		}),
		ActionFailingNode: s.nodeFault(kubelet.AnnotationAPIFailures, func(Step) string { return "0.5" }),
		ActionLoseEvents:  s.loseEvents,
		ActionReboot:      func(step Step) { s.annotate(nodeName(step.Node), kubelet.AnnotationBoot, s.number()) },
		ActionRestartKubelet: func(step Step) {
			s.annotate(nodeName(step.Node), kubelet.AnnotationStart, s.number())
		},
		ActionReplaceNode: s.replaceNode,

		ActionErrors:      s.strike(&s.faults.errors, "errors"),
		ActionLoseAnswers: s.strike(&s.faults.lost, "lost answers"),
		ActionSlowCalls:   s.strike(&s.faults.slow, "slow calls"),
		ActionLate: func(step Step) {
			by := time.Duration(step.N) * time.Second
			s.faults.late[step.Kind] = lateness{s.Elapsed() + step.For, by}
			s.faulty("", "late watch", step.For+by)
		},
		ActionGap:       s.interrupt,
		ActionKill:      func(step Step) { s.restart(step, false) },
		ActionKillFleet: func(step Step) { s.restart(step, true) },
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
func (s *simulation) failPod(pod *corev1.Pod) {
	s.changePod(pod, func(pod *corev1.Pod) {
		if !final(pod) {
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "PodGC"
		}
	})
}

// final reports whether the phase of a pod is final.
func final(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// number returns a text that was not used yet.
func (s *simulation) number() string {
	s.numbers++
	return fmt.Sprint(s.numbers)
}

func (s *simulation) createPod(step Step) {
	if get[*corev1.Node](s.cluster, invariant.Nodes, nodeName(step.Node)) == nil {
		return // nothing binds a pod to it
	}
	pod := podOf(step.N, podName(step.Pod), nodeName(step.Node))
	_, _ = s.server.Create(s.Now(), resourceOf(invariant.Pods), Namespace, pod, apiserver.WriteOptions{})
}

// onPod returns an action on a pod that exists.
func (s *simulation) onPod(do func(*corev1.Pod, Step)) func(Step) {
	return func(step Step) {
		if pod := get[*corev1.Pod](s.cluster, invariant.Pods, podName(step.Pod)); pod != nil {
			do(pod, step)
		}
	}
}

// showNotReady shows a pod as not ready, as the node lifecycle controller does.
func (s *simulation) showNotReady(pod *corev1.Pod) {
	s.changePod(pod, func(pod *corev1.Pod) {
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(s.Now().Truncate(time.Second))
			}
		}
	})
}

func (s *simulation) setGate(pod *corev1.Pod, open bool) {
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
func (s *simulation) nodeFault(annotation string, value func(Step) string) func(Step) {
	return func(step Step) {
		name := nodeName(step.Node)
		s.annotate(name, annotation, value(step))
		s.After(step.For, func() { s.annotate(name, annotation, "") })
	}
}

// graceOfNodes is after which silence the pods of a node are shown as not
// ready.
const graceOfNodes = 40 * time.Second

func (s *simulation) silence(step Step) {
	s.nodeFault(kubelet.AnnotationSilent, func(Step) string { return "true" })(step)
	if step.For <= graceOfNodes {
		return
	}
	s.After(graceOfNodes, func() {
		node := get[*corev1.Node](s.cluster, invariant.Nodes, nodeName(step.Node))
		if node == nil || node.Annotations[cri.AnnotationDomain+"/"+kubelet.AnnotationSilent] == "" {
			return
		}
		for _, pod := range list[*corev1.Pod](s.cluster, invariant.Pods) {
			if pod.Spec.NodeName == node.Name {
				s.showNotReady(pod)
			}
		}
	})
}

func (s *simulation) replaceNode(step Step) {
	name := nodeName(step.Node)
	if get[*corev1.Node](s.cluster, invariant.Nodes, name) == nil {
		return
	}
	_, _ = s.server.Delete(s.Now(), resourceOf(invariant.Nodes), apiserver.Key{Name: name}, metav1.DeleteOptions{})
	s.After(s.between(0, step.For), func() { // the garbage collector of pods
		for _, pod := range list[*corev1.Pod](s.cluster, invariant.Pods) {
			if pod.Spec.NodeName == name {
				s.deletePod(pod.Name, new(int64))
			}
		}
		s.addNode(name)
	})
}

// longestRelist is how long a kubelet takes at most to find what its runtime
// has not told.
const longestRelist = 8 * time.Minute

// loseEvents makes the present runtime lose what it would tell.
func (s *simulation) loseEvents(step Step) {
	runtime := s.runtime
	if runtime == nil {
		return
	}
	runtime.mute++
	s.faulty("", "lost events", step.For+longestRelist)
	s.After(step.For, func() { runtime.mute-- })
}

// strike makes a fault strike a quarter, a half or all of the calls. A slow
// call takes up to half a minute.
func (s *simulation) strike(f *fault, what string) func(Step) {
	return func(step Step) {
		*f = fault{s.Elapsed() + step.For, []float64{0.25, 0.5, 1}[step.N%3]}
		s.faulty("", what, step.For+callTimeout)
	}
}

// interrupt makes the watch of a kind miss everything for a time.
func (s *simulation) interrupt(step Step) {
	if s.process.ended {
		return
	}
	w := s.process.watches[step.Kind]
	w.Break()
	s.faulty("", "gap", step.For+time.Second)
	s.After(step.For, func() {
		if w.Broken() {
			// The list is at least as new as what the watch has shown.
			at := s.Now().Add(-s.between(0, 5*time.Second))
			version := max(w.Version(), s.logs[step.Kind].VersionAt(at))
			w.List(version, func() time.Duration { return s.watchDelay(&s.faults, step.Kind) })
		}
	})
}

// restart ends the process, and its runtime too if all ends. Another one begins
// after a time.
func (s *simulation) restart(step Step, all bool) {
	if s.process.ended {
		return
	}
	s.kill(all)
	s.faulty("", "no process", step.For+time.Second)
	s.After(step.For, func() {
		// It cannot fail, because the first start did not, with the same settings.
		if err := s.takeOver(); err != nil {
			panic(err)
		}
	})
}

// kill ends the process, and its runtime too if all ends.
func (s *simulation) kill(all bool) {
	s.process.end()
	if all {
		s.runtime.end(s.Now())
		s.runtime = nil
	}
}
