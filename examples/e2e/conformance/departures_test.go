package conformance

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	upstreamutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

// A departure is a way in which we do something else than upstream on purpose.
// It says in which other world upstream does what we do in this one, so that it
// allows for that and for nothing else.
type departure struct {
	name string
	// neutral returns the other world, or nil if the departure has nothing to do
	// with this one. What we delete besides is what is no longer in the other
	// world.
	neutral func(*world) (other *world, besides []string)
	// sameStatus says that the status is the same in the end.
	sameStatus bool
}

var departures = []departure{
	{
		// Upstream counts a node that is gone, and whose pods the garbage collector
		// has yet to delete, against maxUnavailable, and deletes old pods there on
		// its own. With maxSurge it fails over such a node, and the rollout stands
		// still.
		name:       "pods of nodes that are gone do not count",
		neutral:    withoutPods((*world).onGoneNode),
		sameStatus: true,
	},
	{
		// Upstream deletes it in each sync and waits for that to be seen, for five
		// minutes, which it never will be.
		name:       "a pod that is being deleted, of a node that is gone, is not deleted again",
		neutral:    withoutPods((*world).waitingForGoneNode),
		sameStatus: true,
	},
	{
		// Upstream takes a node where no pod may stay for one that lacks its pod.
		name:    "a node where no pod may stay does not count",
		neutral: withoutPods((*world).misplaced),
	},
	{
		// Upstream waits for it to be available, which may be for ever: the scheduler
		// does not give it the node. With maxSurge ours deletes it if there is an old
		// one next to it that works.
		name:       "a new pod that no node has, for one where none should run, does not count",
		neutral:    scheduledOrNot,
		sameStatus: true,
	},
	{
		// Upstream keeps the older one, even if only the younger one works.
		name:    "of duplicates the one stays that is available, will be, or is current",
		neutral: bestFirst,
	},
	{
		// Upstream goes by the generation when it replaces pods, but with maxSurge
		// not when it looks for duplicates, and then deletes what the rollout counts
		// on.
		name:       "with maxSurge the deprecated generation makes a pod current everywhere",
		neutral:    currentByHash,
		sameStatus: true,
	},
	{
		// Upstream takes the share of no nodes for no maxSurge, and goes by
		// maxUnavailable then, which is zero as well: old pods stay where none should
		// run any more.
		name:       "maxSurge as a share surges even if no node should have a pod",
		neutral:    surgeOfNone,
		sameStatus: true,
	},
	{
		// Upstream takes it for an old pod, or a new one, and with two of either does
		// nothing about the node.
		name:    "a failed pod that waits to be replaced is none for the rollout",
		neutral: waitingNextToOthers,
	},
	{
		// Upstream makes one next to it at once with maxSurge, and without deletes it
		// as unavailable if it is old. The next one may fail as well, and so on: its
		// wait after failures is none then.
		name:    "a failed pod that waits to be replaced is in the place of the next",
		neutral: placeTaken,
	},
}

// withoutPods makes a neutral that leaves some pods out.
func withoutPods(which func(*world, *corev1.Pod) bool) func(*world) (*world, []string) {
	return func(w *world) (*world, []string) {
		var rest []*corev1.Pod
		var besides []string
		for _, pod := range w.pods {
			switch {
			case !which(w, pod):
				rest = append(rest, pod)
			case w.node(targetOf(pod)) != nil && pod.DeletionTimestamp == nil:
				besides = append(besides, labelOf(pod))
			}
		}
		if len(rest) == len(w.pods) {
			return nil, nil
		}
		return w.with(rest), besides
	}
}

func (w *world) onGoneNode(pod *corev1.Pod) bool {
	return w.node(targetOf(pod)) == nil && pod.Spec.NodeName != ""
}

func (w *world) waitingForGoneNode(pod *corev1.Pod) bool {
	return w.node(targetOf(pod)) == nil && pod.Spec.NodeName == "" && pod.DeletionTimestamp != nil
}

func (w *world) misplaced(pod *corev1.Pod) bool {
	node := w.node(targetOf(pod))
	return node != nil && !daemon.Compile(&w.set.Spec.Template, taints.Matcher{}).Place(node).ShouldContinue
}

// staying are the pods of a node that no process deletes, failed ones first and
// apart.
func (w *world) staying(node string) (failed, others []*corev1.Pod) {
	for _, pod := range w.pods {
		switch {
		case targetOf(pod) != node || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded:
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, pod)
		default:
			others = append(others, pod)
		}
	}
	return failed, others
}

// scheduledOrNot makes new pods that no node has, of nodes where none should
// run, available, or, where new pods come before old ones go, leaves them out.
// Those of the latter that are next to an old pod that is ready are deleted as
// well.
func scheduledOrNot(w *world) (*world, []string) {
	placement := daemon.Compile(&w.set.Spec.Template, taints.Matcher{})
	var besides []string
	other := w.changed(func(pod *corev1.Pod) *corev1.Pod {
		node := w.node(targetOf(pod))
		switch {
		case node == nil || placement.Place(node).ShouldRun || !w.current(pod) || pod.Spec.NodeName != "" ||
			pod.DeletionTimestamp != nil:
			return pod
		case upstreamutil.AllowsSurge(w.set):
			if _, others := w.staying(node.Name); slices.ContainsFunc(others, w.isOldAndReady) {
				besides = append(besides, labelOf(pod))
			}
			return nil
		}
		other := pod.DeepCopy()
		other.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
		}}
		return other
	})
	return other, besides
}

func (w *world) isOldAndReady(pod *corev1.Pod) bool {
	return !w.current(pod) && podutil.IsPodReady(pod)
}

// waitingNextToOthers makes failed pods but the first of a node that has others
// terminate: they are in the way of the next pod, but not of the rollout.
func waitingNextToOthers(w *world) (*world, []string) {
	return w.changed(func(pod *corev1.Pod) *corev1.Pod {
		failed, others := w.staying(targetOf(pod))
		if len(others) == 0 || !slices.Contains(failed, pod) || pod == failed[0] {
			return pod
		}
		other := pod.DeepCopy()
		other.Status.Phase, other.Status.Conditions = corev1.PodPending, nil
		other.DeletionTimestamp = new(metav1.NewTime(epoch))
		return other
	}), nil
}

// placeTaken makes one of the failed pods but the first of a node that has no
// others a new one that is not ready yet, and leaves out the rest.
func placeTaken(w *world) (*world, []string) {
	return w.changed(func(pod *corev1.Pod) *corev1.Pod {
		failed, others := w.staying(targetOf(pod))
		if len(others) > 0 || !slices.Contains(failed, pod) || pod == failed[0] {
			return pod
		}
		if pod != failed[1] {
			return nil
		}
		other := pod.DeepCopy()
		other.Status.Phase, other.Status.Conditions = corev1.PodPending, nil
		other.Labels[appsv1.ControllerRevisionHashLabelKey] = w.hash
		return other
	}), nil
}

// changed returns the world with each pod changed, or left out if it is nil
// then.
func (w *world) changed(change func(*corev1.Pod) *corev1.Pod) *world {
	var pods []*corev1.Pod
	for _, pod := range w.pods {
		if other := change(pod); other != nil {
			pods = append(pods, other)
		}
	}
	return w.with(pods)
}

// bestFirst makes pods older that are available, or will be once they have been
// ready for long enough, and then those that are current, in their order.
func bestFirst(w *world) (*world, []string) {
	return w.changed(func(pod *corev1.Pod) *corev1.Pod {
		years := 0
		if w.current(pod) {
			years = 1
		}
		for _, at := range []time.Time{epoch, epoch.Add(time.Hour)} {
			if podutil.IsPodAvailable(pod, w.set.Spec.MinReadySeconds, metav1.NewTime(at)) {
				years += 2
			}
		}
		other := pod.DeepCopy()
		other.CreationTimestamp.Time = pod.CreationTimestamp.AddDate(-years, 0, 0)
		return other
	}), nil
}

// currentByHash gives pods that are current by their generation the hash, too.
func currentByHash(w *world) (*world, []string) {
	generation, err := upstreamutil.GetTemplateGeneration(w.set)
	if err != nil || generation == nil || !upstreamutil.AllowsSurge(w.set) {
		return nil, nil
	}
	return w.changed(func(pod *corev1.Pod) *corev1.Pod {
		if upstreamutil.IsPodUpdated(pod, w.hash, generation) {
			pod = pod.DeepCopy()
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] = w.hash
		}
		return pod
	}), nil
}

// surgeOfNone makes a share a number, if there is nothing to take the share of.
func surgeOfNone(w *world) (*world, []string) {
	placement := daemon.Compile(&w.set.Spec.Template, taints.Matcher{})
	run := func(node *corev1.Node) bool { return placement.Place(node).ShouldRun }
	if slices.ContainsFunc(w.nodes, run) || !upstreamutil.AllowsSurge(w.set) {
		return nil, nil
	}
	other := *w
	other.set = w.set.DeepCopy()
	other.set.Spec.UpdateStrategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(1))
	return &other, nil
}

// targetOf returns the node that a pod is for.
func targetOf(pod *corev1.Pod) string {
	node, err := upstreamutil.GetTargetNodeName(pod)
	if err != nil {
		panic(err) // each pod of a world has one
	}
	return node
}
