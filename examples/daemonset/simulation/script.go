package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/daemonsets"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	appLabel  = model.OwnerLabel
	poolLabel = corev1.LabelTopologyZone
	taintKey  = "maintenance"
)

func setName(i int) string  { return fmt.Sprintf("agent-%c", 'a'+i) }
func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// actions returns what each action does.
func (s *simulation) actions() map[Action]func(Step) {
	all := s.faults()
	maps.Copy(all, s.setActions())
	maps.Copy(all, s.nodeActions())
	maps.Copy(all, s.podActions())
	return all
}

func (s *simulation) setActions() map[Action]func(Step) {
	return map[Action]func(Step){
		ActionCreateSet: s.createSet,
		ActionDeleteSet: s.onSet(s.deleteSet),
		ActionSetImage:  s.onSpec(func(set *appsv1.DaemonSet, n int) { setImage(set, fmt.Sprintf("agent:%d", n)) }),
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
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, "note", set.ResourceVersion)
		}),
	}
}

func (s *simulation) nodeActions() map[Action]func(Step) {
	return map[Action]func(Step){
		ActionAddNode:      s.addNode,
		ActionRemoveNode:   s.onMachine(removeNode),
		ActionRecreateNode: func(step Step) { s.onMachine(removeNode)(step); s.addNode(step) },
		ActionTaint:        s.onMachine(s.taint),
		ActionLabel: s.onMachine(func(m *model.Machine, _ Step) {
			m.Edit(func(node *corev1.Node) {
				node.Labels = maps.Clone(node.Labels)
				node.Labels[poolLabel] = otherPool(node.Labels[poolLabel])
			})
		}),
		ActionKillNode: s.onMachine(func(m *model.Machine, step Step) { s.After(step.For, m.Silence()) }),
		ActionFailPods: s.onMachine(func(m *model.Machine, step Step) {
			s.kubelets.failUntil[m.Name] = s.Elapsed() + step.For
		}),
		ActionSlowNode: s.onMachine(func(m *model.Machine, step Step) {
			s.kubelets.slow[m.Name] = time.Duration(step.N) * time.Second
		}),
	}
}

func (s *simulation) podActions() map[Action]func(Step) {
	pods, revisions := network.Pods, network.Revisions
	return map[Action]func(Step){
		ActionDeletePod: s.onPod(func(pod *corev1.Pod, _ Step) { s.DeletePod(pod.Name) }),
		ActionFailPod:   s.onPod(func(pod *corev1.Pod, _ Step) { s.kubelets.report(pod, corev1.PodFailed) }),
		ActionUnready:   s.onPod(func(pod *corev1.Pod, step Step) { s.kubelets.makeUnready(pod, step.For) }),
		ActionOrphanPod: s.onPod(func(pod *corev1.Pod, _ Step) { s.own(pods, pod) }),
		ActionRelabelPod: s.onPod(func(pod *corev1.Pod, _ Step) {
			s.patch(pods, pod, map[string]any{"labels": map[string]string{appLabel: "none"}})
		}),
		ActionStealPod:       s.onPod(func(pod *corev1.Pod, _ Step) { s.own(pods, pod, thief) }),
		ActionStrayPod:       s.createStray,
		ActionOrphanRevision: s.onRevision(func(r *appsv1.ControllerRevision) { s.own(revisions, r) }),
		ActionStealRevision:  s.onRevision(func(r *appsv1.ControllerRevision) { s.own(revisions, r, thief) }),
	}
}

// onSet returns an action on a set that exists and is not being deleted.
func (s *simulation) onSet(do func(*appsv1.DaemonSet, Step)) func(Step) {
	return func(step Step) {
		for _, set := range s.Sets() {
			if set.Name == setName(step.Set) && set.DeletionTimestamp == nil {
				do(set, step)
			}
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
	_, _ = s.Server.Update(s.Now(), network.DaemonSets.Resource(), s.Namespace, next, apiserver.WriteOptions{})
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
	set := daemonsets.NewSet(setName(step.Set), corev1.Container{Name: "agent", Image: "agent:1"})
	setStrategy(set, step.N)
	_ = s.Create(network.DaemonSets.Resource(), set) // it fails if there is one
}

// deleteSet deletes a set. With a propagation that needs one it gets a finalizer
// first, and the garbage collector takes it off when it is done.
func (s *simulation) deleteSet(set *appsv1.DaemonSet, step Step) {
	finalizer := []string{"", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}[step.N%3]
	if finalizer != "" {
		s.patch(network.DaemonSets, set, map[string]any{"finalizers": []string{finalizer}})
	}
	_ = s.Delete(network.DaemonSets.Resource(), set.Name) // it is there
}

func otherPool(pool string) string {
	if pool == "blue" {
		return "green"
	}
	return "blue"
}

// addNode adds a node that does not exist.
func (s *simulation) addNode(step Step) {
	name := nodeName(step.Node)
	switch m := s.Machine(name); {
	case m == nil:
		pool := "blue"
		if step.Node%3 == 2 {
			pool = "green"
		}
		s.AddMachine(name, pool, "")
	case m.Node() == nil:
		m.Register()
		m.Edit(func(node *corev1.Node) { node.Spec.Taints = nil }) // that of its admission
	}
}

func removeNode(m *model.Machine, _ Step) { m.Unregister() }

// taint taints a node for a time. N chooses the effect.
func (s *simulation) taint(m *model.Machine, step Step) {
	taint := corev1.Taint{Key: taintKey, Effect: []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule,
	}[step.N%3]}
	untaint := func(node *corev1.Node) {
		node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t == taint })
	}
	m.Edit(func(node *corev1.Node) {
		untaint(node)
		node.Spec.Taints = append(node.Spec.Taints, taint)
	})
	s.After(step.For, func() { m.Edit(untaint) })
}

// onMachine returns an action on a machine, whether it has a node or not.
func (s *simulation) onMachine(do func(*model.Machine, Step)) func(Step) {
	return func(step Step) {
		if m := s.Machine(nodeName(step.Node)); m != nil {
			do(m, step)
		}
	}
}

// onPod returns an action on one of the pods.
func (s *simulation) onPod(do func(*corev1.Pod, Step)) func(Step) {
	return func(step Step) {
		pods := slices.DeleteFunc(s.Pods(), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
		if len(pods) > 0 {
			do(pods[step.Pod%len(pods)], step)
		}
	}
}

// createStray creates a running pod that a set selects and that has no owner.
func (s *simulation) createStray(step Step) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "stray-", Labels: map[string]string{appLabel: setName(step.Set)},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	pod.Spec.NodeName = nodeName(step.Node)
	_ = s.Create(network.Pods.Resource(), pod) // nothing has its name
}

func (s *simulation) onRevision(do func(*appsv1.ControllerRevision)) func(Step) {
	return s.onSet(func(set *appsv1.DaemonSet, step Step) {
		all := slices.DeleteFunc(s.Revisions(), func(r *appsv1.ControllerRevision) bool {
			return !metav1.IsControlledBy(r, set)
		})
		if len(all) > 0 {
			do(all[step.Pod%len(all)])
		}
	})
}

// thief is a controller that takes what is not its own.
var thief = metav1.OwnerReference{
	APIVersion: "example.com/v1", Kind: "Thief", Name: "thief", UID: "thief", Controller: ptr.To(true),
}

// own gives an object other owners, or none.
func (s *simulation) own(kind network.Kind, object metav1.Object, owners ...metav1.OwnerReference) {
	s.patch(kind, object, map[string]any{"ownerReferences": owners})
}

// patch changes the metadata of an object that exists.
func (s *simulation) patch(kind network.Kind, object metav1.Object, metadata map[string]any) {
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err == nil {
		err = s.Patch(kind.Resource(), types.MergePatchType, patch, object.GetName())
	}
	if err != nil {
		panic(fmt.Sprintf("simulation: change %s %s: %v", kind, object.GetName(), err))
	}
}
