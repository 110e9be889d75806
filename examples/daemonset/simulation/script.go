package simulation

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

const (
	appLabel  = "app"
	poolLabel = "pool"
	taintKey  = "maintenance"
)

func setName(i int) string  { return fmt.Sprintf("agent-%c", 'a'+i) }
func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// actions returns what each action does.
func (s *simulation) actions() map[Action]func(Step) {
	return map[Action]func(Step){
		ActionCreateSet: s.createSet,
		ActionDeleteSet: s.onSet(func(set *appsv1.DaemonSet, step Step) {
			s.deleteSet(set, []metav1.DeletionPropagation{
				metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground,
			}[step.N%3])
		}),
		ActionSetImage: s.onSpec(func(set *appsv1.DaemonSet, n int) { setImage(set, fmt.Sprintf("agent:%d", n)) }),
		ActionBreakImage: s.onSpec(func(set *appsv1.DaemonSet, n int) {
			setImage(set, fmt.Sprintf("%s:%d", BrokenImage, n))
		}),
		ActionSetStrategy:  s.onSpec(setStrategy),
		ActionSetPlacement: s.onSpec(setPlacement),
		ActionSetLimits: s.onSpec(func(set *appsv1.DaemonSet, n int) {
			set.Spec.MinReadySeconds = []int32{0, 10, 30}[n%3]
			set.Spec.RevisionHistoryLimit = ptr.To([]int32{0, 1, 2, 10}[n%4])
		}),
		ActionAnnotateSet: s.onSpec(func(set *appsv1.DaemonSet, _ int) {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, "note", s.number())
		}),
		ActionAddNode:      s.addNode,
		ActionRemoveNode:   func(step Step) { s.removeNode(step.Node) },
		ActionRecreateNode: func(step Step) { s.removeNode(step.Node); s.addNode(step) },
		ActionTaint:        s.taint,
		ActionLabel: func(step Step) {
			s.changeNode(step.Node, func(node *corev1.Node) { node.Labels[poolLabel] = otherPool(node.Labels[poolLabel]) })
		},
		ActionKillNode: s.onMachine(func(m *machine, step Step) { m.deadUntil = s.Elapsed() + step.For }),
		ActionFailPods: s.onMachine(func(m *machine, step Step) { m.failUntil = s.Elapsed() + step.For }),
		ActionSlowNode: s.onMachine(func(m *machine, step Step) { m.slow = time.Duration(step.N) * time.Second }),

		ActionDeletePod: s.onPod(func(pod *corev1.Pod, _ Step) { s.deletePod(pod) }),
		ActionFailPod: s.onPod(func(pod *corev1.Pod, _ Step) {
			s.changePod(pod, func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{Phase: corev1.PodFailed} })
		}),
		ActionUnready:   s.onPod(s.makeUnready),
		ActionOrphanPod: s.onPod(func(pod *corev1.Pod, _ Step) { s.orphan(invariant.Pods, pod) }),
		ActionRelabelPod: s.onPod(func(pod *corev1.Pod, _ Step) {
			s.changePod(pod, func(pod *corev1.Pod) { pod.Labels[appLabel] = "none" })
		}),
		ActionStealPod:       s.onPod(func(pod *corev1.Pod, _ Step) { s.steal(invariant.Pods, pod) }),
		ActionStrayPod:       s.createStray,
		ActionOrphanRevision: s.onRevision(func(r *appsv1.ControllerRevision) { s.orphan(invariant.Revisions, r) }),
		ActionStealRevision:  s.onRevision(func(r *appsv1.ControllerRevision) { s.steal(invariant.Revisions, r) }),

		ActionErrors:      s.strike(&s.faults.errors),
		ActionLoseAnswers: s.strike(&s.faults.lost),
		ActionConflicts:   s.strike(&s.faults.conflicts),
		ActionSlowCalls:   s.strike(&s.faults.slow),
		ActionQuota:       s.strike(&s.faults.quota),
		ActionNotNow:      s.strike(&s.faults.notNow),
		ActionInPlace:     s.strike(&s.faults.inPlace),
		ActionLate: func(step Step) {
			s.faults.late[step.Kind] = lateness{s.Elapsed() + step.For, time.Duration(step.N) * time.Second}
		},
		ActionGap:  s.interrupt,
		ActionKill: s.kill,
		ActionHalt: s.halt,
	}
}

// onSet returns an action on a set that exists and is not being deleted.
func (s *simulation) onSet(do func(*appsv1.DaemonSet, Step)) func(Step) {
	return func(step Step) {
		set := get[*appsv1.DaemonSet](s.cluster, invariant.Sets, setName(step.Set))
		if set != nil && set.DeletionTimestamp == nil {
			do(set, step)
		}
	}
}

func (s *simulation) onSpec(change func(set *appsv1.DaemonSet, n int)) func(Step) {
	return s.onSet(func(set *appsv1.DaemonSet, step Step) {
		s.changeSet(set, func(set *appsv1.DaemonSet) { change(set, step.N) })
	})
}

// changeSet updates a set as a client does, so that its generation rises.
func (s *simulation) changeSet(set *appsv1.DaemonSet, change func(*appsv1.DaemonSet)) {
	next := set.DeepCopy()
	change(next)
	_, _ = s.server.Update(s.Now(), resourceOf(invariant.Sets), Namespace, next, apiserver.WriteOptions{})
}

func setImage(set *appsv1.DaemonSet, image string) {
	set.Spec.Template.Spec.Containers[0].Image = image
}

// setStrategy sets one of seven strategies.
func setStrategy(set *appsv1.DaemonSet, n int) {
	rolling := &appsv1.RollingUpdateDaemonSet{
		MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(0)),
	}
	strategy := appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: rolling}
	switch n % 7 {
	case 0, 1, 2:
		rolling.MaxUnavailable = ptr.To(intstr.FromInt32(int32(n%7 + 1)))
	case 3:
		rolling.MaxUnavailable = ptr.To(intstr.FromString("40%"))
	case 4:
		rolling.MaxSurge = ptr.To(intstr.FromInt32(1))
	case 5:
		rolling.MaxSurge = ptr.To(intstr.FromString("50%"))
	case 6:
		strategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
	set.Spec.UpdateStrategy = strategy
}

// setPlacement sets one of four placements. It is part of the template.
func setPlacement(set *appsv1.DaemonSet, n int) {
	spec := &set.Spec.Template.Spec
	spec.NodeSelector, spec.Tolerations = nil, nil
	if n%2 == 1 {
		spec.NodeSelector = map[string]string{poolLabel: "blue"}
	}
	if n%4 >= 2 {
		spec.Tolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists}}
	}
}

func (s *simulation) createSet(step Step) {
	name := setName(step.Set)
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}}
	set.Spec.Template.Labels = map[string]string{appLabel: name}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	setStrategy(set, step.N)
	_, _ = s.server.Create(s.Now(), resourceOf(invariant.Sets), Namespace, set, apiserver.WriteOptions{})
}

func otherPool(pool string) string {
	if pool == "blue" {
		return "green"
	}
	return "blue"
}

func (s *simulation) addNode(step Step) {
	name := nodeName(step.Node)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{poolLabel: "blue"}}}
	if step.Node%3 == 2 {
		node.Labels[poolLabel] = "green"
	}
	if get[*corev1.Node](s.cluster, invariant.Nodes, name) == nil {
		s.nodes[name] = &machine{}
		_, _ = s.server.Create(s.Now(), resourceOf(invariant.Nodes), "", node, apiserver.WriteOptions{})
	}
}

func (s *simulation) removeNode(n int) {
	if node := get[*corev1.Node](s.cluster, invariant.Nodes, nodeName(n)); node != nil {
		s.drop(invariant.Nodes, node)
	}
}

func (s *simulation) changeNode(n int, change func(*corev1.Node)) {
	if node := get[*corev1.Node](s.cluster, invariant.Nodes, nodeName(n)); node != nil {
		next := node.DeepCopy()
		change(next)
		s.put(invariant.Nodes, node, next)
	}
}

// taint taints a node for a time. N chooses the effect.
func (s *simulation) taint(step Step) {
	effect := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule,
	}[step.N%3]
	untaint := func(node *corev1.Node) {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == effect })
	}
	s.changeNode(step.Node, func(node *corev1.Node) {
		untaint(node)
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: taintKey, Effect: effect})
	})
	s.After(step.For, func() { s.changeNode(step.Node, untaint) })
}

func (s *simulation) onMachine(do func(*machine, Step)) func(Step) {
	return func(step Step) {
		name := nodeName(step.Node)
		m := s.nodes[name]
		if m == nil {
			return
		}
		do(m, step)
		s.After(step.For, func() { s.visitPods(name) })
	}
}

// onPod returns an action on one of the pods.
func (s *simulation) onPod(do func(*corev1.Pod, Step)) func(Step) {
	return func(step Step) {
		pods := list[*corev1.Pod](s.cluster, invariant.Pods)
		pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
		if len(pods) > 0 {
			do(pods[step.Pod%len(pods)], step)
		}
	}
}

func (s *simulation) makeUnready(pod *corev1.Pod, step Step) {
	if isReady(pod) {
		s.unready[string(pod.UID)] = s.Elapsed() + step.For
		s.changePod(pod, func(pod *corev1.Pod) { setReady(pod, corev1.ConditionFalse, s.Now()) })
	}
}

// createStray creates a running pod that a set selects and that has no owner.
func (s *simulation) createStray(step Step) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace, Name: "stray-" + s.number(), Labels: map[string]string{appLabel: setName(step.Set)},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	pod.Spec.NodeName = nodeName(step.Node)
	_, _ = s.server.Create(s.Now(), resourceOf(invariant.Pods), Namespace, pod, apiserver.WriteOptions{})
}

func (s *simulation) onRevision(do func(*appsv1.ControllerRevision)) func(Step) {
	return s.onSet(func(set *appsv1.DaemonSet, step Step) {
		all := list[*appsv1.ControllerRevision](s.cluster, invariant.Revisions)
		all = slices.DeleteFunc(all, func(r *appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(r, set) })
		if len(all) > 0 {
			do(all[step.Pod%len(all)])
		}
	})
}

// strike has a fault strike a quarter, a half or all of the calls.
func (s *simulation) strike(f *fault) func(Step) {
	return func(step Step) { *f = fault{s.Elapsed() + step.For, []float64{0.25, 0.5, 1}[step.N%3]} }
}

// interrupt has the watch of a kind miss everything for a time.
func (s *simulation) interrupt(step Step) {
	if s.process.ended {
		return
	}
	w := s.process.watches[step.Kind]
	w.Break()
	s.After(step.For, func() {
		if w.Broken() {
			// The list is at least as new as what the watch has shown.
			version := max(w.Version(), s.logs[step.Kind].VersionAt(s.Now().Add(-s.between(0, 5*time.Second))))
			w.List(version, func() time.Duration { return s.watchDelay(&s.faults, step.Kind) })
		}
	})
}

func (s *simulation) kill(step Step) {
	if s.process.ended {
		return
	}
	s.process.end()
	s.After(step.For, func() {
		// It cannot fail, because the first start did not, with the same settings.
		if err := s.takeOver(time.Duration(step.N) * time.Second); err != nil {
			panic(err)
		}
	})
}

func (s *simulation) halt(step Step) {
	s.halted = max(s.halted, s.Elapsed()+step.For)
	if !s.process.ended {
		s.process.halt()
	}
	s.After(step.For, func() {
		if s.Elapsed() >= s.halted && !s.process.ended {
			s.process.resume()
		}
	})
}
