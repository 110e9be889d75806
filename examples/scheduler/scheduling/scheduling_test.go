package scheduling_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/fit"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
	"github.com/kubelife/lifecycle/taints"
)

// What a node refuses a pod for, and that it is bound where nothing does.
func TestNodeRefusesAPod(t *testing.T) {
	required := func(key, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
					}}},
				},
			}}
		}
	}
	gpus := func(n string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse(n)
		}
	}
	withGPUs := func(node *corev1.Node) { node.Status.Allocatable["example.com/gpu"] = resource.MustParse("2") }
	selecting := func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"x": "y"} }
	cordoned := func(node *corev1.Node) { node.Spec.Unschedulable = true }
	for name, test := range map[string]struct {
		node *corev1.Node
		pod  *corev1.Pod
		says string // empty: it is bound
	}{
		"fits":                 {nodeNamed("n"), podNamed("p", "4"), ""},
		"no CPU":               {nodeNamed("n"), podNamed("p", "4001m"), "1 Insufficient cpu"},
		"extended resource":    {nodeNamed("n", withGPUs), podNamed("p", "1", gpus("2")), ""},
		"no extended resource": {nodeNamed("n", withGPUs), podNamed("p", "1", gpus("3")), "1 Insufficient example.com/gpu"},
		"unknown resource":     {nodeNamed("n"), podNamed("p", "1", gpus("1")), "1 Insufficient example.com/gpu"},
		"two at once": {nodeNamed("n"), podNamed("p", "5", gpus("1")),
			"1 Insufficient cpu, 1 Insufficient example.com/gpu"},
		"no place among pods": {nodeNamed("n", func(n *corev1.Node) { n.Status.Allocatable = amounts("4", "8Gi", "0") }),
			podNamed("p", "1"), "1 Too many pods"},
		"NoSchedule": {nodeNamed("n", tainted("k", corev1.TaintEffectNoSchedule)), podNamed("p", "1"),
			"1 node(s) had untolerated taint(s)"},
		"NoExecute": {nodeNamed("n", tainted("k", corev1.TaintEffectNoExecute)), podNamed("p", "1"),
			"1 node(s) had untolerated taint(s)"},
		"PreferNoSchedule": {nodeNamed("n", tainted("k", corev1.TaintEffectPreferNoSchedule)), podNamed("p", "1"), ""},
		"tolerated": {nodeNamed("n", tainted("k", corev1.TaintEffectNoExecute)), podNamed("p", "1", tolerates("k")),
			""},
		"cordoned":         {nodeNamed("n", cordoned), podNamed("p", "1"), "1 node(s) were unschedulable"},
		"cordon tolerated": {nodeNamed("n", cordoned), podNamed("p", "1", tolerates(corev1.TaintNodeUnschedulable)), ""},
		"affinity":         {nodeNamed("n"), podNamed("p", "1", required(corev1.LabelHostname, "n")), ""},
		"other affinity": {nodeNamed("n"), podNamed("p", "1", required(corev1.LabelHostname, "m")),
			"1 node(s) didn't match Pod's node affinity/selector"},
		"selector": {nodeNamed("n"), podNamed("p", "1", selecting), "1 node(s) didn't match Pod's node affinity/selector"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(test.node).add(test.pod).synced()
			if test.says == "" {
				require.Equal(t, []string{"bind p to n"}, w.step())
				return
			}
			require.Equal(t, []string{"report p: 0/1 nodes are available: " + test.says + "."}, w.step())
		})
	}
}

// A pod that asks for what the scheduler does not understand is told, and is
// placed nowhere.
func TestWhatIsNotSupportedIsRefused(t *testing.T) {
	term := []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}
	for says, shape := range map[string]func(*corev1.PodSpec){
		"required inter-pod affinity": func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}}
		},
		"required inter-pod anti-affinity": func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{
				PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term},
			}
		},
		"required topology spread": func(s *corev1.PodSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.DoNotSchedule}}
		},
		"volumes that depend on the node": func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"},
			}}}
		},
		"resource claims": func(s *corev1.PodSpec) { s.ResourceClaims = []corev1.PodResourceClaim{{Name: "c"}} },
		"host ports":      func(s *corev1.PodSpec) { s.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} },
	} {
		t.Run(says, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
			w.add(podNamed("p", "1", func(p *corev1.Pod) { shape(&p.Spec) }))
			require.Equal(t, []string{"report p: the scheduler does not support " + says}, w.step())
			w.nodes(nodeNamed("m"))
			require.Empty(t, w.after(time.Minute, "n", "m"), "no node helps")
		})
	}
}

func TestSoftWishesAndPlainVolumesAreNoObstacle(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
	w.add(podNamed("p", "1", func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.ScheduleAnyway}}
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1}},
		}}
	}))
	require.Equal(t, []string{"bind p to n"}, w.step())
}

// Of the nodes that fit the best is taken.
func TestNodesAreRanked(t *testing.T) {
	for name, test := range map[string]struct {
		better, worse *corev1.Node
		pod           *corev1.Pod
	}{
		"least allocated": {
			nodeNamed("z", func(n *corev1.Node) { n.Status.Allocatable = amounts("8", "8Gi", "10") }), nodeNamed("a"),
			podNamed("p", "1"),
		},
		"not disliked": {nodeNamed("z"), nodeNamed("a", tainted("k", corev1.TaintEffectPreferNoSchedule)),
			podNamed("p", "1")},
		"preferred affinity": {nodeNamed("z", inZone("b")), nodeNamed("a"), podNamed("p", "1", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
					Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}},
					}},
				}},
			}}
		})},
		"name": {nodeNamed("a"), nodeNamed("b"), podNamed("p", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(test.worse, test.better).add(test.pod).synced()
			require.Equal(t, []string{"bind p to " + test.better.Name}, w.step())
		})
	}
}

// A node that is silent gets no pod, long before it is declared not ready. One
// whose heartbeat is only late comes last.
func TestSilentNodesAreAvoided(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"), nodeNamed("b")).synced()
	w.beat("a", "b")
	w.after(13*time.Second, "b")
	w.add(podNamed("early", "1"))
	require.Equal(t, []string{"bind early to b"}, w.step(), "a is late")
	w.add(podNamed("second", "3500m"))
	require.Equal(t, []string{"bind second to a"}, w.step(), "but a is no worse than none")
	w.after(12*time.Second, "b")
	w.add(podNamed("late", "3500m", priority(-1)))
	require.Equal(t, []string{
		"report late: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were silent.",
	}, w.step())
	w.remove("second")
	require.Empty(t, w.after(20*time.Second, "b"))
	require.Equal(t, []string{"bind late to a"}, w.after(2*time.Second, "a", "b"), "it is heard again")
}

// A fully disrupted zone gets no pod, not even of those that tolerate the
// taints of its nodes. If all zones are, the taints alone decide.
func TestDisruptedZonesAreAvoided(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a1"), nodeNamed("a2"), nodeNamed("b1", inZone("b"))).synced()
	w.beat("a1", "a2", "b1")
	w.after(30*time.Second, "a1")
	w.add(podNamed("p", "1"), podNamed("q", "1"))
	require.Equal(t, []string{"bind p to a1", "bind q to a1"}, w.step())
	w.nodes(nodeNamed("b2", inZone("b"), func(n *corev1.Node) { n.Status.Conditions = nil }))
	w.add(podNamed("r", "3"))
	require.Equal(t, []string{"report r: 0/4 nodes are available: 1 Insufficient cpu, " +
		"1 node(s) were in a fully disrupted zone, 2 node(s) were silent."}, w.step())
	bound := w.after(40 * time.Second) // a1 falls silent too
	require.Equal(t, []string{"bind r to a2"}, bound, "the observer is more likely at fault than all nodes")
}

// The end of a disruption helps pods on all nodes of the zone, also on those
// that did not change.
func TestZoneThatRecoversWakesPods(t *testing.T) {
	ready := func(status corev1.ConditionStatus, cpu string) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			node.Status.Allocatable = amounts(cpu, "8Gi", "110")
		}
	}
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a", ready(corev1.ConditionTrue, "1")),
		nodeNamed("b1", inZone("b"), ready(corev1.ConditionFalse, "1")),
		nodeNamed("b2", inZone("b"), ready(corev1.ConditionFalse, "4"))).synced()
	w.add(podNamed("p", "3"))
	require.Equal(t, []string{"report p: 0/3 nodes are available: 1 Insufficient cpu, " +
		"2 node(s) were in a fully disrupted zone."}, w.step())
	w.nodes(nodeNamed("b1", inZone("b"), ready(corev1.ConditionTrue, "1")))
	require.Equal(t, []string{"bind p to b2"}, w.after(time.Second))
}

func TestPartiallyDisruptedZonesComeLast(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).synced()
	for _, name := range []string{"a1", "a2", "a3", "a4"} {
		w.nodes(nodeNamed(name, func(n *corev1.Node) { n.Status.Allocatable = amounts("32", "64Gi", "100") }))
	}
	w.nodes(nodeNamed("b1", inZone("b")))
	w.beat("a1", "a2", "a3", "a4", "b1")
	w.after(30*time.Second, "a1", "b1")
	w.add(podNamed("p", "1"), podNamed("q", "4"))
	require.Equal(t, []string{"bind p to b1", "bind q to a1"}, w.step())
}

func TestHighPriorityComesFirstThenAge(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
	w.add(podNamed("low", "1", priority(-1)), podNamed("first", "1"))
	w.now = w.now.Add(time.Second)
	w.add(podNamed("second", "1"), podNamed("high", "1", priority(10)))
	require.Equal(t, []string{"bind high to n", "bind first to n", "bind second to n", "bind low to n"}, w.step())
}

// What has to be known is known before the first decision.
func TestNothingIsDecidedBeforeTheCachesAreFilled(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).add(podNamed("p", "1"))
	require.Empty(t, w.step())
	w.nodes(nodeNamed("n")).synced()
	require.Equal(t, []string{"bind p to n"}, w.step())
}

func TestOtherPodsCountAndAreLeftAlone(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
	others := func(pod *corev1.Pod) { pod.Spec.SchedulerName = corev1.DefaultSchedulerName }
	w.add(podNamed("theirs", "1", others), podNamed("running", "3", others, on("n")))
	w.add(podNamed("finished", "4", on("n"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
	w.add(podNamed("p", "1"), podNamed("q", "1"))
	require.Equal(t, []string{"bind p to n", "report q: 0/1 nodes are available: 1 Insufficient cpu."}, w.step())
}

// A pod that another scheduler has placed keeps those out of its topology that
// its required anti-affinity matches.
func TestAntiAffinityOfOthersIsRespected(t *testing.T) {
	lonely := func(key, app string, shape ...func(*corev1.PodAffinityTerm)) func(*corev1.Pod) {
		term := corev1.PodAffinityTerm{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}
		for _, f := range shape {
			f(&term)
		}
		return func(pod *corev1.Pod) {
			pod.Spec.SchedulerName = corev1.DefaultSchedulerName
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
			}}
		}
	}
	elsewhere := func(term *corev1.PodAffinityTerm) { term.Namespaces = []string{"other"} }
	anywhere := func(term *corev1.PodAffinityTerm) { term.NamespaceSelector = &metav1.LabelSelector{} }
	for name, test := range map[string]struct {
		lonely func(*corev1.Pod)
		bound  string
	}{
		"its node":          {lonely(corev1.LabelHostname, "p"), "bind p to a2"},
		"its zone":          {lonely(corev1.LabelTopologyZone, "p"), "bind p to b1"},
		"another app":       {lonely(corev1.LabelHostname, "q"), "bind p to a1"},
		"another namespace": {lonely(corev1.LabelHostname, "p", elsewhere), "bind p to a1"},
		"any namespace":     {lonely(corev1.LabelHostname, "p", anywhere), "bind p to a2"},
		"no topology":       {lonely("rack", "p"), "bind p to a1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).synced()
			w.nodes(nodeNamed("a1"), nodeNamed("a2"), nodeNamed("b1", inZone("b")))
			w.add(podNamed("lonely", "0", on("a1"), test.lonely), podNamed("p", "1"))
			require.Equal(t, []string{test.bound}, w.step())
		})
	}
	w := newWorld(t, scheduling.Config{}).synced()
	w.nodes(nodeNamed("a1", func(n *corev1.Node) { n.Spec.Unschedulable = true }), nodeNamed("a2"))
	w.add(podNamed("lonely", "0", on("a1"), lonely(corev1.LabelTopologyZone, "p")), podNamed("p", "1"))
	require.Equal(t, []string{"report p: 0/2 nodes are available: " +
		"1 node(s) didn't satisfy existing pods anti-affinity rules, 1 node(s) were unschedulable."}, w.step())
	w.remove("lonely")
	require.Equal(t, []string{"bind p to a2"}, w.after(2*time.Second, "a1", "a2"), "another node of its zone")

	for name, change := range map[string]func(w *world, p *corev1.Pod){
		"its node gets another zone": func(w *world, _ *corev1.Pod) { w.nodes(nodeNamed("a1", cordoned, inZone("b"))) },
		"its node has no zone": func(w *world, _ *corev1.Pod) {
			w.nodes(nodeNamed("a1", cordoned, func(n *corev1.Node) { delete(n.Labels, corev1.LabelTopologyZone) }))
		},
		"it is gone":       func(w *world, _ *corev1.Pod) { w.remove("lonely") },
		"its node is gone": func(w *world, _ *corev1.Pod) { w.scheduler.ForgetNode(w.now, "a1") },
		"the pod gets another label": func(w *world, p *corev1.Pod) {
			w.add(changed(p, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "q"} }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a2"))
			p := podNamed("p", "1")
			w.add(podNamed("lonely", "0", on("a1"), lonely(corev1.LabelTopologyZone, "p")), p)
			w.synced().nodes(nodeNamed("a1", cordoned)) // after its pod
			require.Len(t, w.step(), 1)
			larger := func(n *corev1.Node) { n.Status.Allocatable = amounts("5", "8Gi", "10") }
			require.Empty(t, w.nodes(nodeNamed("a2", larger)).after(time.Minute, "a1", "a2"), "asked about again")
			change(w, p)
			require.Equal(t, []string{"bind p to a2"}, w.after(20*time.Second, "a1", "a2"))
		})
	}
}

// A pod that waits already is kept out as well.
func TestAntiAffinityKeepsOutAPodThatWaits(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"), nodeNamed("b", inZone("b"))).synced()
	w.add(podNamed("p", "5"))
	require.Len(t, w.step(), 1)
	wide := func(n *corev1.Node) { n.Status.Allocatable = amounts("4", "16Gi", "10") }
	require.Empty(t, w.nodes(nodeNamed("a", wide)).after(time.Minute, "a", "b"), "asked about again")
	w.add(podNamed("lonely", "0", on("a"), func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{},
			}},
		}}
	}))
	large := func(n *corev1.Node) { n.Status.Allocatable = amounts("8", "16Gi", "10") }
	w.nodes(nodeNamed("a", large))
	require.NotContains(t, w.after(20*time.Second, "a", "b"), "bind p to a")
	w.nodes(nodeNamed("b", inZone("b"), large))
	require.Equal(t, []string{"bind p to b"}, w.after(20*time.Second, "a", "b"))
}

func cordoned(node *corev1.Node) { node.Spec.Unschedulable = true }

func TestGatesHoldAPod(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
	gated := podNamed("p", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} })
	w.add(gated)
	require.Empty(t, w.after(time.Minute, "n"))
	require.Equal(t, 1, w.scheduler.Pending()["gated"])
	w.add(changed(gated, func(p *corev1.Pod) { p.Spec.SchedulingGates = nil }))
	require.Equal(t, []string{"bind p to n"}, w.step())
}

// What a former leader has reported is not reported again, and where it has
// nominated a pod the room is kept.
func TestATakeoverGoesOn(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"))
	w.add(podNamed("victim", "4", on("a"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: w.now} }))
	reported := func(message, nominated string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.NominatedNodeName = nominated
			p.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: message},
			}
		}
	}
	w.add(podNamed("p", "3", priority(10),
		reported("0/1 nodes are available: 1 Insufficient cpu. preemption: 0 pod(s) leave node a.", "a")))
	w.add(podNamed("q", "2", priority(10), reported("0/1 nodes are available: 1 Insufficient cpu.", "")))
	require.Empty(t, w.synced().step())
	w.remove("victim")
	require.Equal(t, []string{"bind p to a"}, w.after(20*time.Second, "a"))
}

// A pod that waits is decided about when a changed node could take it, and at
// no other change.
func TestOnlyWhatHelpsWakesAPod(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"), nodeNamed("b")).synced()
	w.add(podNamed("x", "3", on("a")), podNamed("y", "1", on("a")), podNamed("z", "4", on("b")), podNamed("p", "3"))
	require.Len(t, w.step(), 1)
	w.now = w.now.Add(time.Minute)
	w.beat("a", "b")
	attempts := func() int {
		for waiting := range w.scheduler.Waits() {
			return waiting.Attempts
		}
		return 0
	}
	w.remove("y")
	w.nodes(nodeNamed("a", func(n *corev1.Node) { n.Labels["new"] = "label" }),
		nodeNamed("c", tainted("k", corev1.TaintEffectNoSchedule)),
		nodeNamed("d", func(n *corev1.Node) { n.Status.Allocatable = amounts("2", "8Gi", "10") }))
	require.Empty(t, w.step())
	require.Equal(t, 1, attempts(), "none of these helps")
	w.remove("x")
	require.Equal(t, []string{"bind p to a"}, w.step())
}

func TestAttemptsBackOff(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
	full := podNamed("x", "4", on("n"))
	var waits []time.Duration
	for range 6 {
		w.add(full, podNamed("p", "1"))
		w.step()
		tried := w.now
		w.remove("x")
		w.answer = func(scheduling.Task) scheduling.Result { return scheduling.Result{Outcome: scheduling.OutcomeRefused} }
		for len(w.step()) == 0 {
			w.now = w.now.Add(100 * time.Millisecond)
		}
		waits = append(waits, w.now.Sub(tried))
	}
	require.IsIncreasing(t, waits[:3])
	require.Equal(t, time.Second, waits[0])
	require.Equal(t, 10*time.Second, waits[5])
}

// A binding counts until the watch shows it, however long that takes.
func TestAssumedPodsCount(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
	w.unseen = true
	w.add(podNamed("p", "3"), podNamed("q", "3"))
	require.Equal(t, []string{"bind p to n", "report q: 0/1 nodes are available: 1 Insufficient cpu."}, w.step())
	require.Equal(t, []string{"read p"}, w.after(29*time.Second+2*time.Second, "n"))
	require.Empty(t, w.after(5*time.Minute, "n"), "the read has shown it")
	stale := podNamed("p", "3")
	w.scheduler.ObservePod(w.now, stale)
	require.Empty(t, w.after(time.Minute, "n"), "the watch is behind")
}

// A binding of which nothing was heard may have happened. It is read, and
// counts until then.
func TestLostAnswersAreRead(t *testing.T) {
	for name, happened := range map[string]bool{"it happened": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).synced()
			w.unseen = true
			w.add(podNamed("p", "3"))
			w.answer = func(scheduling.Task) scheduling.Result {
				if happened {
					w.pods["p"] = changed(w.pods["p"], on("n"))
				}
				return scheduling.Result{Outcome: scheduling.OutcomeDone, Err: errors.New("timeout")}
			}
			require.Equal(t, []string{"bind p to n"}, w.step())
			w.answer = func(scheduling.Task) scheduling.Result { return scheduling.Result{} }
			require.Equal(t, []string{"read p"}, w.after(time.Second, "n"), "the API server is still away")
			w.add(podNamed("q", "3"))
			w.answer = nil
			if happened {
				require.Equal(t, []string{"report q: 0/1 nodes are available: 1 Insufficient cpu.", "read p"},
					w.after(10*time.Second, "n"))
				return
			}
			require.Equal(t, []string{"report q: 0/1 nodes are available: 1 Insufficient cpu.", "read p", "bind p to n"},
				w.after(10*time.Second, "n"))
		})
	}
}

// The zero value of a result is a failure of unknown effect.
func TestZeroResultIsUnknown(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).add(podNamed("p", "3")).synced()
	w.unseen = true
	job, ok := w.jobs.Start(w.now)
	require.True(t, ok)
	_, ok = w.jobs.Start(w.now)
	require.False(t, ok, "never two tasks for one pod")
	job.Finish(w.now)
	require.Equal(t, []string{"read p", "bind p to n"}, w.after(time.Second, "n"))
}

func TestLateResultsOfAFormerPodChangeNothing(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("n")).add(podNamed("p", "3")).synced()
	job, ok := w.jobs.Start(w.now)
	require.True(t, ok)
	w.remove("p")
	w.add(podNamed("p", "3", func(p *corev1.Pod) { p.UID = "another" }))
	require.Equal(t, []string{"bind p to n"}, w.step())
	w.answer = func(scheduling.Task) scheduling.Result { return scheduling.Result{Outcome: scheduling.OutcomeRefused} }
	job.Perform(t.Context())
	job.Finish(w.now)
	w.answer = nil
	w.add(podNamed("q", "3"))
	require.Len(t, w.step(), 1, "the new pod counts")
	require.Contains(t, w.done[0], "report q")
}

// The least important pods leave, and no more than needed.
func TestPreemptionTakesTheLeast(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"), nodeNamed("b")).synced()
	w.add(podNamed("a1", "2", on("a"), priority(5)), podNamed("a2", "2", on("a"), priority(1)))
	w.add(podNamed("b1", "2", on("b"), priority(1)), podNamed("b2", "1", on("b"), priority(1)),
		podNamed("b3", "1", on("b"), priority(1)))
	w.add(podNamed("p", "2", priority(10)))
	require.Equal(t, []string{
		"report p: 0/2 nodes are available: 2 Insufficient cpu. preemption: 1 pod(s) leave node a.",
		"evict a2 from a: makes room for shop/p",
	}, w.step())
	require.Empty(t, w.after(30*time.Second, "a", "b"), "a2 takes its time")
	w.add(podNamed("thief", "1", priority(10)))
	require.Equal(t, []string{
		"report thief: 0/2 nodes are available: 2 Insufficient cpu. preemption: 1 pod(s) leave node b.",
		"evict b3 from b: makes room for shop/thief",
	}, w.step(), "the room is p's")
	w.remove("a2")
	require.Equal(t, []string{"bind p to a"}, w.after(2*time.Second, "a", "b"))
}

// A pod that only a live read has shown can make room like others.
func TestPodThatWasReadMakesRoom(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a")).synced()
	w.unseen = true
	w.add(podNamed("x", "4"))
	require.Equal(t, []string{"bind x to a"}, w.step())
	require.Equal(t, []string{"read x"}, w.after(time.Minute, "a"))
	w.add(podNamed("p", "2", priority(10)))
	require.Equal(t, []string{
		"report p: 0/1 nodes are available: 1 Insufficient cpu. preemption: 1 pod(s) leave node a.",
		"evict x from a: makes room for shop/p",
	}, w.step())
}

func TestPreemptionSparesWhatMustStay(t *testing.T) {
	for name, shape := range map[string]func(*corev1.Pod){
		"as important": priority(10),
		"mirror pod":   func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} },
		"of a DaemonSet": func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a")).synced()
			w.add(podNamed("x", "4", on("a"), shape), podNamed("p", "2", priority(10)))
			require.Equal(t, []string{"report p: 0/1 nodes are available: 1 Insufficient cpu."}, w.step())
		})
	}
	t.Run("for a pod that never preempts", func(t *testing.T) {
		w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a")).synced()
		w.add(podNamed("x", "4", on("a")), podNamed("p", "2", priority(10), func(p *corev1.Pod) {
			p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
		}))
		require.Equal(t, []string{"report p: 0/1 nodes are available: 1 Insufficient cpu."}, w.step())
	})
	t.Run("keeps others away", func(t *testing.T) {
		w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a")).synced()
		w.add(podNamed("x", "4", on("a"), func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{},
				}},
			}}
		}), podNamed("p", "2", priority(10)))
		require.Equal(t, []string{"report p: 0/1 nodes are available: " +
			"1 node(s) didn't satisfy existing pods anti-affinity rules."}, w.step())
	})
}

// A node where no budget forbids it is preferred, though its victim is more
// important.
func TestPreemptionPrefersWhatBudgetsAllow(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"), nodeNamed("b")).synced()
	w.scheduler.ObserveBudget(w.now, budgetOf("keep", "kept", 0))
	w.add(podNamed("kept", "4", on("a")), podNamed("free", "4", on("b"), priority(5)))
	w.add(podNamed("p", "2", priority(10)))
	require.Equal(t, []string{
		"report p: 0/2 nodes are available: 2 Insufficient cpu. preemption: 1 pod(s) leave node b.",
		"evict free from b: makes room for shop/p",
	}, w.step())
}

// A refusal waits. If another node costs less then, the pod is nominated there,
// and the eviction of the first victim is canceled.
func TestPreemptionGoesElsewhereWhenItIsRefused(t *testing.T) {
	for _, refusal := range []eviction.Outcome{eviction.OutcomeBlocked, eviction.OutcomeFailed, ""} {
		t.Run(string(refusal), func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"), nodeNamed("b")).synced()
			w.add(podNamed("kept", "4", on("a")), podNamed("free", "4", on("b"), priority(5)))
			w.add(podNamed("p", "2", priority(10)))
			w.evicts = func(e scheduling.Eviction) eviction.Outcome {
				if e.Pod.Name == "kept" {
					return refusal
				}
				return eviction.OutcomeEvicted
			}
			require.Equal(t, []string{
				"report p: 0/2 nodes are available: 2 Insufficient cpu. preemption: 1 pod(s) leave node a.",
				"evict kept from a: makes room for shop/p",
			}, w.step())
			asked := w.after(time.Minute, "a", "b")
			require.Equal(t, []string{
				"report p: 0/2 nodes are available: 2 Insufficient cpu. preemption: 1 pod(s) leave node b.",
				"evict free from b: makes room for shop/p",
			}, asked[len(asked)-2:], "and kept is not asked again")
			w.remove("free")
			require.Equal(t, []string{"bind p to b"}, w.after(10*time.Second, "a", "b"))
		})
	}
}

func TestRefusedEvictionIsAskedAgainWhenTheBudgetChanges(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a")).synced()
	w.add(podNamed("kept", "4", on("a")), podNamed("p", "2", priority(10)))
	blocked := true
	w.evicts = func(scheduling.Eviction) eviction.Outcome {
		if blocked {
			return eviction.OutcomeBlocked
		}
		return eviction.OutcomeEvicted
	}
	require.Len(t, w.step(), 2)
	w.after(time.Minute, "a")
	blocked = false
	w.scheduler.ObserveBudget(w.now, budgetOf("keep", "kept", 1))
	require.Equal(t, []string{"evict kept from a: makes room for shop/p"}, w.step())
	w.remove("kept")
	require.Equal(t, []string{"bind p to a"}, w.after(10*time.Second, "a"))
}

// Victims stay when the pod no longer needs their room.
func TestVictimsStayWhenTheirRoomIsNotNeeded(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"deleted": func(w *world) { w.remove("p") },
		"fits elsewhere": func(w *world) {
			w.nodes(nodeNamed("b"))
			require.Equal(w.t, []string{"bind p to b"}, w.after(2*time.Second, "a", "b"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a")).synced()
			w.add(podNamed("x", "4", on("a")), podNamed("p", "2", priority(10)))
			w.evicts = func(scheduling.Eviction) eviction.Outcome { return eviction.OutcomeBlocked }
			require.Len(t, w.step(), 2)
			end(w)
			require.Empty(t, w.after(5*time.Minute, "a", "b"))
		})
	}
}

// Halt makes nothing leave. What was begun goes on after Resume.
func TestHaltHoldsPreemption(t *testing.T) {
	w := newWorld(t, scheduling.Config{}).nodes(nodeNamed("a"), nodeNamed("b")).synced()
	w.scheduler.Halt(w.now)
	w.add(podNamed("x", "4", on("a")), podNamed("p", "2", priority(10)), podNamed("q", "3"))
	require.Equal(t, []string{"bind p to b", "report q: 0/2 nodes are available: 2 Insufficient cpu."}, w.step())
	w.add(podNamed("r", "3", priority(10)))
	require.Equal(t, []string{"report r: 0/2 nodes are available: 2 Insufficient cpu."}, w.after(time.Minute, "a", "b"))
	w.scheduler.Resume(w.now)
	require.Equal(t, "evict x from a: makes room for shop/r", w.after(time.Minute, "a", "b")[1])
}

// What a node would have left next to its daemons.
func TestOverheadOfANewNode(t *testing.T) {
	set := func(name, cpu string, shape ...func(*corev1.PodSpec)) *appsv1.DaemonSet {
		pod := podNamed(name, cpu)
		for _, f := range shape {
			f(&pod.Spec)
		}
		return &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name},
			Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: pod.Spec}},
		}
	}
	gpuOnly := func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"gpu": "yes"} }
	sets := []*appsv1.DaemonSet{set("logs", "500m"), set("driver", "1", gpuOnly)}
	var compiled []fit.DaemonSet
	for _, s := range sets {
		compiled = append(compiled, fit.CompileSet(s, taints.Matcher{}))
	}
	plain := nodeNamed("plain")
	gpu := nodeNamed("gpu", tainted("gpu", corev1.TaintEffectNoSchedule), func(n *corev1.Node) { n.Labels["gpu"] = "yes" })
	require.Equal(t, map[corev1.ResourceName]int64{corev1.ResourceCPU: 500, corev1.ResourcePods: 1},
		map[corev1.ResourceName]int64(fit.Overhead(plain, slices.Values(compiled))))
	require.Empty(t, fit.Overhead(gpu, slices.Values(compiled)), "no set tolerates its taint")

	w := newWorld(t, scheduling.Config{Templates: []*corev1.Node{gpu, plain}}).synced()
	for _, s := range sets {
		w.scheduler.ObserveDaemonSet(w.now, s)
	}
	w.add(podNamed("p", "3500m"), podNamed("q", "3501m", priority(-1)))
	require.Equal(t, []string{
		"report p: 0/0 nodes are available. A new node like plain would fit.",
		"report q: 0/0 nodes are available.",
	}, w.step())
	w.scheduler.ForgetDaemonSet(w.now, "infra", "logs")
	w.add(podNamed("r", "3501m"), podNamed("s", "1", priority(-1), tolerates("gpu")))
	require.Equal(t, []string{
		"report r: 0/0 nodes are available. A new node like plain would fit.",
		"report s: 0/0 nodes are available. A new node like gpu would fit.",
	}, w.step())
}

func TestConfigNamesAllThatIsWrong(t *testing.T) {
	_, err := scheduling.New(scheduling.Config{
		FreshFor: -1, AssumeTimeout: -1, RequestLimit: -1, RequestBurst: -1,
		Evictions: eviction.Config{Holds: []eviction.Hold{{Name: "x"}}}, Templates: []*corev1.Node{{}},
	}, start)
	require.ErrorIs(t, err, scheduling.ErrInvalidConfig)
	for _, says := range []string{
		"SchedulerName", "FreshFor", "AssumeTimeout", "RequestLimit", "RequestBurst", "Evictions", "Templates[0]",
	} {
		require.ErrorContains(t, err, says)
	}
	_, err = scheduling.New(scheduling.Config{SchedulerName: "x"}, time.Time{})
	require.Error(t, err)
}
