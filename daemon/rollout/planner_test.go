package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

var start = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

// set plans for a DaemonSet whose pods come and go as a test says. Results are
// reported at once, as good ones, unless a test does it itself.
type set struct {
	*testing.T
	*rollout.Planner

	spec rollout.Spec
	now  time.Time
	made int
	pods map[string]*corev1.Pod // by name, as observed last
}

func newSet(t *testing.T, change ...func(*rollout.Config)) *set {
	config := rollout.Config{Spec: rollout.Spec{
		Template: &corev1.PodTemplateSpec{},
		Revision: "old",
		Strategy: rollout.Strategy{MaxUnavailable: intstr.FromInt32(1)},
	}}
	for _, c := range change {
		c(&config)
	}
	planner, err := rollout.NewPlanner(config, start)
	require.NoError(t, err)
	return &set{
		T:       t,
		Planner: planner,
		spec:    config.Spec,
		now:     start,
		pods:    make(map[string]*corev1.Pod),
	}
}

// Plan returns all that may be done now.
func (s *set) Plan(now time.Time) plan { return planOf(s.Planner, now) }

// Report says how a step ended.
func (s *set) Report(now time.Time, e ended) { finish(s.Planner, now, e) }

// Status returns the status, which is whole: no test of a set has that many
// nodes.
func (s *set) Status() rollout.Status {
	s.Evaluate(s.now, mostVisits)
	status, whole := s.Planner.Status(s.now)
	require.True(s, whole)
	return status
}

func (s *set) nodes(names ...string) *set {
	for _, name := range names {
		s.ObserveNode(s.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return s
}

// running gives each node an available pod of the revision of the time.
func (s *set) running(nodes ...string) *set {
	for _, node := range nodes {
		s.pod(node+"-1", node, s.spec.Revision, available)
	}
	return s
}

func available(pod *corev1.Pod) { readyFrom(start.Add(-time.Hour))(pod) }

func unready(pod *corev1.Pod) { pod.Status.Conditions = nil }

func readyFrom(at time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at),
		}}
	}
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func created(at time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(at) }
}

func terminating(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: start} }

func unscheduled(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{
					Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn,
					Values: []string{pod.Spec.NodeName},
				}},
			}},
		},
	}}
	pod.Spec.NodeName = ""
}

// pod observes a pod that is new.
func (s *set) pod(name, node, revision string, change ...func(*corev1.Pod)) *set {
	s.made++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("uid-%d", s.made)),
			CreationTimestamp: metav1.NewTime(start),
			Labels:            map[string]string{"controller-revision-hash": revision},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	s.pods[name] = pod
	return s.change(name, change...)
}

// change observes a pod that has changed.
func (s *set) change(name string, change ...func(*corev1.Pod)) *set {
	s.made++
	pod := s.pods[name].DeepCopy()
	pod.ResourceVersion = fmt.Sprint(1000 + s.made)
	for _, c := range change {
		c(pod)
	}
	s.pods[name] = pod
	s.ObservePod(s.now, pod)
	return s
}

func (s *set) gone(name string) *set {
	s.ForgetPod(s.now, s.pods[name])
	delete(s.pods, name)
	return s
}

func (s *set) template(revision string) *set {
	s.spec.Revision = revision
	require.NoError(s, s.SetSpec(s.now, s.spec))
	return s
}

func (s *set) rollout(change func(*rollout.Strategy)) *set {
	change(&s.spec.Strategy)
	require.NoError(s, s.SetSpec(s.now, s.spec))
	return s
}

func (s *set) after(d time.Duration) *set {
	s.now = s.now.Add(d)
	return s
}

// steps asks for a plan and reports that all was done: what is made appears,
// what is deleted is gone at once.
func (s *set) steps() string {
	plan := s.Plan(s.now)
	for i := range plan.Create {
		s.made++
		step := &plan.Create[i]
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf(
					"%s-%s-%d",
					step.Node,
					step.Revision,
					step.Attempt+2,
				), UID: types.UID(fmt.Sprintf("uid-%d", s.made)),
				CreationTimestamp: metav1.NewTime(s.now), ResourceVersion: fmt.Sprint(1000 + s.made),
				Labels: map[string]string{"controller-revision-hash": step.Revision},
			},
			Spec: corev1.PodSpec{NodeName: step.Node},
		}
		s.Report(s.now, ended{Create: step, Pod: pod})
		s.pods[pod.Name] = pod
		s.ObservePod(s.now, pod)
	}
	for i := range plan.Delete {
		s.Report(s.now, ended{Delete: &plan.Delete[i], Gone: true})
		delete(s.pods, plan.Delete[i].Pod)
	}
	return listed(plan)
}

// listed writes a plan down, a step a line.
func listed(plan plan) string {
	var lines []string
	for _, step := range plan.Create {
		lines = append(lines, fmt.Sprintf("create on %s: %s", step.Node, step.Reason))
	}
	for _, step := range plan.Delete {
		lines = append(lines, fmt.Sprintf("delete %s: %s", step.Pod, step.Reason))
	}
	for _, step := range plan.Refresh {
		lines = append(lines, fmt.Sprintf("refresh %s", step.Pod))
	}
	return strings.Join(lines, "\n")
}

func (s *set) want(lines ...string) *set {
	s.Helper()
	require.Equal(s, strings.Join(lines, "\n"), s.steps())
	return s
}

func (s *set) wantWait(node string, reason rollout.WaitReason) *set {
	s.Helper()
	require.Equal(s, reason, s.WaitOf(node).Reason)
	return s
}

func TestEachNodeGetsAPodAndSlowly(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c", "d", "e", "f", "g", "h")
	s.want("create on a: Missing")
	s.want("create on b: Missing", "create on c: Missing")
	s.want(
		"create on d: Missing",
		"create on e: Missing",
		"create on f: Missing",
		"create on g: Missing",
	)
	s.want("create on h: Missing")
	s.want("")
	s.nodes("i", "j").want("create on i: Missing") // and begins slowly after a rest
}

func TestPodLeavesANodeWhereItMayNotStay(t *testing.T) {
	s := newSet(t).nodes("a").running("a")
	repair := corev1.Taint{Key: "repair", Effect: corev1.TaintEffectNoSchedule}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{repair}},
	}
	s.ObserveNode(s.now, node)
	s.want("") // none would be made, but the one that is there stays
	require.Equal(t, rollout.Status{Misscheduled: 1}, s.Status())
	node = node.DeepCopy()
	node.Spec.Taints[0].Effect = corev1.TaintEffectNoExecute
	s.ObserveNode(s.now, node)
	s.want("delete a-1: Misscheduled").want("")
}

func TestVanishedNodeKeepsNothingThatWasNotScheduled(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a").pod("b-1", "b", "old", unscheduled)
	s.ForgetNode(s.now, "a")
	s.ForgetNode(s.now, "b")
	s.want("delete b-1: NodeGone") // a-1 is the pod garbage collector's
	s.want("")
	require.Equal(t, rollout.Status{}, s.Status())
}

func TestNextPodWaitsForTheFormerOneToBeGone(t *testing.T) {
	s := newSet(t).nodes("a").running("a").change("a-1", terminating)
	s.want("").wantWait("a", rollout.WaitTerminating)
	s.change("a-1", phase(corev1.PodFailed)).
		want("create on a: Missing")
	// nothing of it runs any more
}

// #63465: terminating pods that no kubelet ends held up all others.
func TestTerminatingPodOnADeadNodeDelaysNoOther(t *testing.T) {
	s := newSet(t).nodes("a", "dead").running("a", "dead").change("dead-1", terminating, unready)
	s.want("").wantWait("dead", rollout.WaitTerminating)
	s.nodes("b").want("create on b: Missing")
	s.gone("a-1").want("create on a: Missing")
}

func TestWhatIsHandedOutIsNotHandedOutAgain(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "gone", "old", unscheduled)
	require.Equal(t, "create on a: Missing\ndelete x: NodeGone", listed(s.Plan(s.now)))
	require.Empty(t, listed(s.Plan(s.now.Add(time.Hour))))
	s.wantWait("a", rollout.WaitUnderWay)
}

// The order and the history of observations must not matter. A new planner that
// observes the present state counts and plans the same.
func TestOldPlannerKnowsWhatANewOneObserves(t *testing.T) {
	modes := map[string]func(*rollout.Strategy){
		"rolling": func(*rollout.Strategy) {},
		"surging": surge(2),
		"strict":  func(r *rollout.Strategy) { r.Strict = true },
	}
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			was := newSet(
				t,
			).nodes("a", "b", "c", "d").
				running("a", "b", "c", "d").
				rollout(mode).
				template("new")
			was.Status() // evaluates the changes so far
			nodes, tainted := []string{"d", "c", "b", "a"}, ""
			for _, change := range []func(){
				func() { was.change("b-1", unready) },
				func() { was.tainted("d"); tainted = "d" },
				func() { was.pod("c-2", "c", "new", available) },
				func() { was.gone("c-1") },
				func() { was.rollout(func(r *rollout.Strategy) { *r = rollout.Strategy{OnDelete: true} }) },
				func() { was.rollout(surge(1)) },
				func() { was.ForgetNode(was.now, "c"); nodes = []string{"d", "b", "a"} },
				func() { was.pod("c-3", "c", "new", unscheduled) },
				func() { was.pod("b-2", "b", "new", available, created(start.Add(-time.Hour))) },
				func() { was.template("newer") },
				func() {
					was.rollout(func(r *rollout.Strategy) {
						*r = rollout.Strategy{MaxUnavailable: intstr.FromInt32(1)}
					})
				},
				func() { was.rollout(mode) },
				func() { was.change("a-1", terminating) },
				func() { was.nodes("d"); tainted = "" },
			} {
				change()
				is := newSet(t).nodes(nodes...)
				if tainted != "" {
					is.tainted(tainted)
				}
				is.spec = was.spec
				require.NoError(t, is.SetSpec(is.now, is.spec))
				for _, pod := range was.pods {
					is.ObservePod(is.now, pod)
				}
				require.Equal(t, is.Status(), was.Status())
				require.Equal(t, slices.Collect(is.Waits()), slices.Collect(was.Waits()))
			}
		})
	}
}

// tainted observes a node where a pod may stay, but none should be.
func (s *set) tainted(name string) *set {
	s.ObserveNode(s.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: "repair", Effect: corev1.TaintEffectNoSchedule}},
		},
	})
	return s
}

// unfit observes a node where no pod may stay.
func (s *set) unfit(name string) *set {
	s.ObserveNode(s.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: "out", Effect: corev1.TaintEffectNoExecute}},
		},
	})
	return s
}
