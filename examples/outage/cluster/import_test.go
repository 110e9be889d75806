package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/cluster"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/zone"
)

func node(name, zone, pool string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: zone, "pool": pool,
	}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func tainted(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func labeled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

// pod is one that is ready, with the tolerations that admission gives.
func pod(namespace, name, onNode string, owner *metav1.OwnerReference, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	p.Spec.NodeName = onNode
	p.Spec.Tolerations = []corev1.Toleration{ill(corev1.TaintNodeNotReady, 300), ill(corev1.TaintNodeUnreachable, 300)}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func ill(key string, seconds int64) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: &seconds}
}

func tolerating(tolerations ...corev1.Toleration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = tolerations }
}

func ownedBy(kind, name string) *metav1.OwnerReference {
	return &metav1.OwnerReference{Kind: kind, Name: name, Controller: ptr.To(true)}
}

func lease(of string, seconds int32) coordinationv1.Lease {
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: of},
		Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds}}
}

// shop is a cluster of two zones and two pools with a bit of everything.
func shop() *cluster.Objects {
	gpu := tainted("example.com/gpu", "yes", corev1.TaintEffectNoSchedule)
	web := ownedBy("ReplicaSet", "web-5d4f")
	o := &cluster.Objects{
		Nodes: []corev1.Node{
			node("n1", "a", "main"), node("n2", "a", "main"), node("n3", "a", "gpu", gpu),
			node("n4", "b", "main"), node("n5", "b", "main", func(n *corev1.Node) { n.Spec.Unschedulable = true },
				tainted(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)),
		},
		Pods: []corev1.Pod{
			pod("default", "web-1", "n1", web), pod("default", "web-2", "n1", web), pod("default", "web-3", "n4", web),
			pod("default", "db-0", "n2", ownedBy("StatefulSet", "db"),
				func(p *corev1.Pod) { p.Spec.Priority = ptr.To(int32(9)) },
				tolerating(ill(corev1.TaintNodeNotReady, 60), ill(corev1.TaintNodeUnreachable, 60))),
			pod("ml", "train-x", "n3", nil, func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{"pool": "gpu"}
				p.Spec.Tolerations = append([]corev1.Toleration{{Key: "example.com/gpu", Operator: corev1.TolerationOpEqual,
					Value: "yes", Effect: corev1.TaintEffectNoSchedule}}, p.Spec.Tolerations...)
			}),
		},
		ReplicaSets: []appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-5d4f",
			OwnerReferences: []metav1.OwnerReference{*ownedBy("Deployment", "web")}}}},
		Deployments: []appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(3))}}},
	}
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
		o.Leases = append(o.Leases, lease(name, 40))
		o.Pods = append(o.Pods, pod("kube-system", "agent-"+name, name, ownedBy("DaemonSet", "agent"), tolerating(
			corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoExecute},
			corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoExecute},
			corev1.Toleration{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoSchedule},
			corev1.Toleration{Operator: corev1.TolerationOpExists})))
	}
	return o
}

// shopScenario is what has to come out, without the description.
const shopScenario = `name: cluster
duration: 1h
cluster:
  zones:
  - name: a
    nodes: 3
    groups:
    - name: a-gpu
      nodes: 1
      pool: gpu
      taints:
      - {key: example.com/gpu, value: "yes", effect: NoSchedule}
    - {name: a-main, nodes: 2, pool: main}
  - name: b
    nodes: 2
    groups:
    - {name: b-main, nodes: 1, pool: main}
    - {name: b-main-cordoned, nodes: 1, pool: main, cordoned: true}
  workloads:
  - name: default-db
    kind: StatefulSet
    replicas: 1
    tolerationSeconds: 60
    placed: {a-main: 1}
    priority: 9
  - name: default-web
    kind: Deployment
    replicas: 3
    placed: {a-main: 2, b-main: 1}
  - name: kube-system-agent-daemonset
    kind: DaemonSet
    tolerations:
    - {operator: Exists}
  - name: ml-train-x
    kind: Bare
    replicas: 1
    tolerations:
    - {key: example.com/gpu, value: "yes", effect: NoSchedule}
    placed: {a-gpu: 1}
    pools: [gpu]
script:
- at: 5m
  silence: {zone: a}
`

func imported(t *testing.T, o *cluster.Objects, config cluster.Config) (*scenario.Scenario, []string) {
	t.Helper()
	s, notes, err := cluster.Import(o, config)
	require.NoError(t, err)
	return s, notes
}

func written(t *testing.T, s *scenario.Scenario) string {
	t.Helper()
	text, err := scenario.Write(s)
	require.NoError(t, err)
	return string(text)
}

const (
	noRacks = "no node has a label for its rack (topology.kubernetes.io/rack, rack): there are no racks; --rack-label " +
		"names another label"
	noBudgets = "no PodDisruptionBudget is in the list: with action=evict none keeps a pod"
	noFlags   = "no pod of kube-controller-manager is there: its flags are taken to be the defaults of v1.37"
)

func TestAClusterBecomesAScenario(t *testing.T) {
	s, notes := imported(t, shop(), cluster.Config{})
	require.Equal(t, []string{noRacks, noBudgets, noFlags}, notes)
	require.Equal(t, "A cluster as it was found: 5 nodes and 4 workloads. The script, the loss of zone a, is one to "+
		"begin with. What acts is nodelifecycle, also where the flags are those of kube-controller-manager.", s.Description)
	text := written(t, s)
	back, err := scenario.Read("saved.yaml", []byte(text))
	require.NoError(t, err)
	require.Equal(t, s, back)
	s.Description = ""
	require.Equal(t, shopScenario, written(t, s))
}

// In whatever order the API server lists things, the scenario and the notes are
// the same.
func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	want, wantNotes := imported(t, shop(), cluster.Config{})
	for seed := range uint64(50) {
		r, o := rand.New(rand.NewPCG(seed, 1)), shop()
		r.Shuffle(len(o.Nodes), func(i, j int) { o.Nodes[i], o.Nodes[j] = o.Nodes[j], o.Nodes[i] })
		r.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
		got, notes := imported(t, o, cluster.Config{})
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, wantNotes, notes, "seed %d", seed)
	}
}

// The scenario with hashed names is the same except for names, and shows none.
func TestNamesAreHidden(t *testing.T) {
	o := shop()
	o.Unused = map[string]int{
		"v1 Service": 1, "events.k8s.io/v1 Event": 1, "acme.io/v1 AcmeGame": 2, "acme/v1 AcmeThing": 3,
	}
	for i, kind := range []string{"AcmeGame", "Job"} {
		o.Pods = append(o.Pods, pod("default", fmt.Sprint("x", i), "n1", ownedBy(kind, "x")))
	}
	s, notes := imported(t, o, cluster.Config{HashNames: true})
	text := written(t, s) + strings.Join(notes, "\n")
	for _, name := range []string{
		"web", "train", "gpu", "example.com", "agent", "b-main", "default-", "db", "acme", "Acme",
	} {
		require.NotContains(t, text, name)
	}
	require.Regexp(t, `\nnot used: 1 of kind events.k8s.io/v1 Event, 1 of kind v1 Service, 2 of kind kind-[0-9a-f]{8}, `+
		`3 of kind kind-[0-9a-f]{8}$`, text, "those of Kubernetes say nothing of a cluster")
	require.Regexp(t, `\npods of kind Job, kind-[0-9a-f]{8}: `, text)
	s, _ = imported(t, shop(), cluster.Config{HashNames: true})
	again, _ := imported(t, shop(), cluster.Config{HashNames: true})
	require.Equal(t, s, again)
	plain, _ := imported(t, shop(), cluster.Config{})
	require.Equal(t, shape(plain), shape(s))
	key := s.Cluster.Workloads[slices.IndexFunc(s.Cluster.Workloads, isBare)].Tolerations[0].Key
	for _, z := range s.Cluster.Zones {
		for _, g := range z.Groups {
			for _, taint := range g.Taints {
				require.Equal(t, taint.Key, key, "they still match")
			}
		}
	}
}

func isBare(w scenario.Workload) bool { return w.Kind == scenario.Bare }

// shape is what is left of a scenario without names.
func shape(s *scenario.Scenario) []string {
	var parts []string
	for _, z := range s.Cluster.Zones {
		for _, g := range z.Groups {
			parts = append(parts, fmt.Sprint("group ", g.Nodes, g.Cordoned, len(g.Taints)))
		}
	}
	for _, w := range s.Cluster.Workloads {
		parts = append(parts, fmt.Sprint("workload ", w.Kind, w.Replicas, len(w.Tolerations), len(w.Placed), len(w.Pools)))
	}
	slices.Sort(parts)
	return parts
}

// Each change of the shop, what of the scenario it changes, and what is said.
func TestWhatIsTakenOverAndWhatIsNot(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	withBudget := func(change func(*policyv1.PodDisruptionBudget)) func(*cluster.Objects) {
		return func(o *cluster.Objects) {
			for i := range o.Pods[:3] {
				o.Pods[i].Labels = map[string]string{"app": "web"}
			}
			b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
			b.Spec.Selector = selector
			change(&b)
			o.Budgets = append(o.Budgets, b)
		}
	}
	// budgetOf has the pods of the Deployment be of another owner, with a budget.
	budgetOf := func(kind string, unavailable intstr.IntOrString, reason string) func(*cluster.Objects) {
		return func(o *cluster.Objects) {
			withBudget(func(b *policyv1.PodDisruptionBudget) {
				b.Spec.MaxUnavailable = &unavailable
				if reason != "" {
					b.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Reason: reason}}
				}
			})(o)
			for i := range o.Pods[:3] {
				o.Pods[i].OwnerReferences = nil
				if kind != "" {
					o.Pods[i].OwnerReferences = []metav1.OwnerReference{*ownedBy(kind, "x")}
				}
			}
		}
	}
	manager := func(args ...string) func(*cluster.Objects) {
		return func(o *cluster.Objects) {
			p := pod("kube-system", fmt.Sprintf("kcm-%d", len(o.Pods)), "n1", nil)
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			p.Spec.Containers = []corev1.Container{{Name: "kube-controller-manager", Command: args}}
			o.Pods = append(o.Pods, p)
		}
	}
	first := func(change func(*corev1.Pod)) func(*cluster.Objects) {
		return func(o *cluster.Objects) { change(&o.Pods[0]) }
	}
	for name, test := range map[string]struct {
		change   func(*cluster.Objects)
		has      string // what the scenario says
		hasNot   string
		isNoted  string
		isAbsent string // of the usual notes
	}{
		"a rack": {
			change: func(o *cluster.Objects) { labeled("rack", "R7")(&o.Nodes[0]) },
			has:    "- {name: a-main-r7, nodes: 1, pool: main, rack: R7}", isNoted: "4 nodes without a label for the rack",
			isAbsent: noRacks,
		},
		"no zone": {
			change:  func(o *cluster.Objects) { delete(o.Nodes[3].Labels, corev1.LabelTopologyZone) },
			has:     "- name: no-zone",
			isNoted: "1 node without the label topology.kubernetes.io/zone, in zone no-zone",
		},
		"zones by their old labels": {
			change: func(o *cluster.Objects) {
				for i := range o.Nodes {
					o.Nodes[i].Labels[corev1.LabelFailureDomainBetaZone] = o.Nodes[i].Labels[corev1.LabelTopologyZone]
					delete(o.Nodes[i].Labels, corev1.LabelTopologyZone)
				}
			},
			has: "- name: b\n    nodes: 2",
		},
		"zones of one name in two regions": {
			change: func(o *cluster.Objects) {
				for i := range o.Nodes {
					o.Nodes[i].Labels[corev1.LabelTopologyZone] = "1"
					o.Nodes[i].Labels[corev1.LabelTopologyRegion] = []string{"west", "west", "west", "EAST", "EAST"}[i]
				}
			},
			has: "- name: east-1\n    nodes: 2",
		},
		"a node that is not ready": {
			change: func(o *cluster.Objects) {
				o.Nodes[1].Status.Conditions[0].Status = corev1.ConditionUnknown
				tainted(corev1.TaintNodeUnreachable, "", corev1.TaintEffectNoExecute)(&o.Nodes[1])
			},
			has: "- {name: a-main, nodes: 2, pool: main}", isNoted: "1 node not ready: in the scenario all nodes are ready",
		},
		"a node that is excluded": {
			change:  func(o *cluster.Objects) { labeled("node.kubernetes.io/exclude-disruption", "")(&o.Nodes[0]) },
			isNoted: "1 node with the label node.kubernetes.io/exclude-disruption",
		},
		"minAvailable": {
			change: withBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromString("50%")) }),
			has:    "minAvailable: 2", // half of three is 1.5, rounded up
		},
		"maxUnavailable": {
			change: withBudget(func(b *policyv1.PodDisruptionBudget) {
				b.Spec.MaxUnavailable = ptr.To(intstr.FromString("50%"))
			}),
			has: "minAvailable: 1", // 3 less 1.5, rounded up
		},
		"a budget that lets sick pods go": {
			change: withBudget(func(b *policyv1.PodDisruptionBudget) {
				b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
				b.Spec.MinAvailable = ptr.To(intstr.FromInt32(1))
			}),
			hasNot: "minAvailable", isNoted: "PodDisruptionBudget default/web, which lets pods that are not ready go",
		},
		"a budget of two workloads": {
			change: withBudget(func(b *policyv1.PodDisruptionBudget) {
				b.Spec.Selector = &metav1.LabelSelector{}
				b.Spec.MinAvailable = ptr.To(intstr.FromInt32(1))
			}),
			hasNot: "minAvailable", isNoted: "which protects pods of 2 workloads together",
		},
		"a budget that asks for nothing": { // none of its pods are expected, so none may go
			change: withBudget(func(*policyv1.PodDisruptionBudget) {}),
			has:    "minAvailable: 3",
		},
		"a budget of pods that are not healthy": {
			change: withBudget(func(b *policyv1.PodDisruptionBudget) {
				b.Spec.MinAvailable = ptr.To(intstr.FromInt32(2))
				b.Status.CurrentHealthy, b.Status.DesiredHealthy = 1, 2
			}),
			has:     "minAvailable: 2",
			isNoted: "1 PodDisruptionBudget with fewer healthy pods than desired (default/web 1 of 2): in the cluster none of",
		},
		"a budget of a Job": {
			change: budgetOf("Job", intstr.FromInt32(1), policyv1.SyncFailedReason), has: "minAvailable: 3",
			isNoted: "PodDisruptionBudget default/web lets no pod of default-x-job go, in the scenario as in the cluster",
		},
		"a budget of a foreign kind without a scale": {
			change: budgetOf("Game", intstr.FromString("50%"), policyv1.SyncFailedReason), has: "minAvailable: 3",
			isNoted: "PodDisruptionBudget default/web lets no pod of default-x-game go",
		},
		"a budget of a foreign kind that is not known to have a scale": {
			change: budgetOf("Game", intstr.FromInt32(1), ""), has: "minAvailable: 3",
			isNoted: "PodDisruptionBudget default/web lets no pod of default-x-game go",
		},
		"a budget of a foreign kind with a scale": {
			change: budgetOf("Game", intstr.FromString("50%"), policyv1.InsufficientPodsReason), has: "minAvailable: 1",
		},
		"a budget of a foreign kind that owns a ReplicaSet": {
			change: func(o *cluster.Objects) {
				withBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1)) })(o)
				o.ReplicaSets[0].OwnerReferences[0].Kind = "Rollout"
			},
			has: "minAvailable: 2",
		},
		"a budget of a Job with a number": {
			change: func(o *cluster.Objects) {
				budgetOf("Job", intstr.FromInt32(1), "")(o)
				o.Budgets[0].Spec = policyv1.PodDisruptionBudgetSpec{Selector: selector, MinAvailable: ptr.To(intstr.FromInt32(1))}
			},
			has: "minAvailable: 1", // the pods are counted as they are
		},
		"a budget of a pod without an owner": { // its status has no error, and expects no pods
			change: func(o *cluster.Objects) {
				budgetOf("", intstr.FromInt32(1), policyv1.InsufficientPodsReason)(o)
				o.Pods[1].Labels, o.Pods[2].Labels = nil, nil
			},
			has: "minAvailable: 1", isNoted: "PodDisruptionBudget default/web lets no pod of default-web-1 go",
		},
		"a second budget": { // the Eviction API refuses all, whatever the first one allows
			change: func(o *cluster.Objects) {
				one := withBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(1)) })
				one(o)
				one(o)
			},
			has: "minAvailable: 3",
			isNoted: "the pods of default-web have several PodDisruptionBudgets (default/web, default/web): the Eviction API " +
				"evicts none of them",
			isAbsent: noBudgets,
		},
		"a second budget that lets sick pods go": {
			change: func(o *cluster.Objects) {
				withBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(1)) })(o)
				withBudget(func(b *policyv1.PodDisruptionBudget) {
					b.Name, b.Spec.UnhealthyPodEvictionPolicy = "b", ptr.To(policyv1.AlwaysAllow)
				})(o)
			},
			has: "minAvailable: 3", isNoted: "several PodDisruptionBudgets (default/b, default/web)",
			isAbsent: "left out: PodDisruptionBudget default/b, which lets pods that are not ready go at any time, as all " +
				"pods of a lost node are",
		},
		"a second budget of some pods": {
			change: func(o *cluster.Objects) {
				withBudget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = ptr.To(intstr.FromInt32(1)) })(o)
				withBudget(func(b *policyv1.PodDisruptionBudget) { b.Name = "b" })(o)
				o.Pods[0].Labels["one"] = "yes"
				o.Budgets[1].Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"one": "yes"}}
			},
			has:     "minAvailable: 1",
			isNoted: "1 of 3 pods of default-web have several PodDisruptionBudgets (default/b, default/web)",
		},
		"a workload without a pod": {
			change: func(o *cluster.Objects) {
				d := o.Deployments[0].DeepCopy()
				d.Name, d.Spec.Replicas = "new", ptr.To(int32(5))
				o.Deployments = append(o.Deployments, *d)
				old := o.ReplicaSets[0].DeepCopy() // is not one more
				old.Name = "new-1"
				o.ReplicaSets = append(o.ReplicaSets, *old)
				stopped := d.DeepCopy()
				stopped.Name, stopped.Spec.Replicas = "stopped", ptr.To(int32(0))
				o.Deployments = append(o.Deployments, *stopped)
			},
			isNoted: "left out: 1 workload without a pod on a node (default-new 0 of 5)",
		},
		"heartbeats": {
			change: func(o *cluster.Objects) {
				for i := range o.Leases[:3] {
					o.Leases[i].Spec.LeaseDurationSeconds = ptr.To(int32(80))
				}
			},
			has: "beatInterval: 20s", isNoted: "leases last differently long: the scenario has a heartbeat every 20s",
		},
		"one node without a lease": {
			change:  func(o *cluster.Objects) { o.Leases = o.Leases[1:] },
			isNoted: "1 node without a lease in kube-node-lease: heartbeats are taken",
		},
		"no leases": {
			change: func(o *cluster.Objects) { o.Leases = nil },
			hasNot: "beatInterval", isNoted: "5 nodes without a lease in kube-node-lease",
		},
		"flags": {
			change: func(o *cluster.Objects) {
				manager("kube-controller-manager", "--node-eviction-rate=0.5", "--node-monitor-grace-period", "40s",
					"--cluster-cidr=10.0.0.0/8", "--leader-elect")(o)
			},
			has:     "  flags: {leader-elect: true, node-eviction-rate: 0.5, node-monitor-grace-period: 40s}\nscript",
			isNoted: "left out: static pods of kubelets, which no controller evicts (1)", isAbsent: noFlags,
		},
		"flags that differ": {
			change: func(o *cluster.Objects) {
				manager("kube-controller-manager", "--node-eviction-rate=0.5")(o)
				manager("kube-controller-manager", "--node-eviction-rate=0.6")(o)
			},
			has: "controller: {replicas: 2}", hasNot: "rate", isNoted: "left out: --node-eviction-rate, which the pods",
		},
		"an invalid flag": {
			change: manager("kube-controller-manager", "--unhealthy-zone-threshold=1.5"),
			hasNot: "threshold", isNoted: "left out: --unhealthy-zone-threshold=1.5, which is invalid",
		},
		"flags that are valid together": { // neither is with the default of the other
			change: manager("kube-controller-manager", "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s"),
			has:    "flags: {leader-elect-lease-duration: 10s, leader-elect-renew-deadline: 8s}",
		},
		"flags that are invalid together": { // without the deadline, the duration is too short for its default
			change: manager("kube-controller-manager", "--leader-elect-lease-duration=7s", "--leader-elect-renew-deadline=8s",
				"--node-eviction-rate=0.5"),
			has:     "controller:\n  flags: {node-eviction-rate: 0.5}",
			isNoted: "left out: --leader-elect-lease-duration=7s, which is invalid",
		},
		"flags in a script": {
			change: manager("/bin/sh", "-ec", "ulimit -n 1000; exec kube-controller-manager \\\n  --node-eviction-rate='0.5' "+
				"--node-monitor-grace-period \\\n  \"40s\" --leader-elect; echo done"),
			has: "  flags: {leader-elect: true, node-eviction-rate: 0.5, node-monitor-grace-period: 40s}\nscript",
		},
		"flags with underscores": {
			change: manager("kube-controller-manager", "--node_monitor_grace_period=40s"),
			has:    "flags: {node-monitor-grace-period: 40s}", isAbsent: noFlags,
		},
		"no flag that is taken over": {
			change:  manager("kube-controller-manager", "--config=/etc/manager.yaml"),
			isNoted: "a pod of kube-controller-manager is there, but its command line has none of the flags", isAbsent: noFlags,
			hasNot: "controller:",
		},
		"flags in another namespace": {
			change: func(o *cluster.Objects) {
				manager("kube-controller-manager", "--node-eviction-rate=0.5")(o)
				o.Pods[len(o.Pods)-1].Namespace = "openshift-kube-controller-manager"
			},
			has: "flags: {node-eviction-rate: 0.5}", isAbsent: noFlags,
			isNoted: "the flags of kube-controller-manager are those of its pods in namespace openshift-kube-controller-manager",
		},
		"flags of clusters that are hosted": {
			change: func(o *cluster.Objects) {
				for _, rate := range []string{"0.5", "0.6", "0.7"} {
					manager("kube-controller-manager", "--node-eviction-rate="+rate)(o)
					o.Pods[len(o.Pods)-1].Namespace = "tenant-" + rate
				}
				o.Pods[len(o.Pods)-1].Namespace = "kube-system"
			},
			has: "flags: {node-eviction-rate: 0.7}", hasNot: "replicas: 2",
		},
		"flags of hosted clusters alone": {
			change: func(o *cluster.Objects) {
				for _, tenant := range []string{"b", "a"} {
					manager("kube-controller-manager", "--node-eviction-rate=0.5")(o)
					o.Pods[len(o.Pods)-1].Namespace = tenant
				}
			},
			hasNot: "rate", isAbsent: noFlags,
			isNoted: "pods of kube-controller-manager are in several namespaces (a, b), none of which is kube-system",
		},
		"a ReplicaSet that is not in the list": {
			change: func(o *cluster.Objects) {
				o.ReplicaSets = nil
				for i := range o.Pods[:3] {
					o.Pods[i].Labels = map[string]string{"pod-template-hash": "5d4f"}
				}
			},
			has: "- name: default-web\n    kind: Deployment", isNoted: "3 pods of ReplicaSets that are not in the list",
		},
		"a Job": {
			change:  first(func(p *corev1.Pod) { p.OwnerReferences[0] = *ownedBy("Job", "night") }),
			has:     "- name: default-night-job\n    kind: Deployment",
			isNoted: "pods of kind Job: they are replaced as those of a",
		},
		"a pod that has ended": {
			change: first(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
			has:    "placed: {a-main: 1, b-main: 1}", isNoted: "left out: pods that have ended (1)",
		},
		"a pod that waits": {
			change:  first(func(p *corev1.Pod) { p.Spec.NodeName = "" }),
			isNoted: "1 workload with fewer pods on nodes than they want (default-web 2 of 3)",
		},
		"a pod that crashes again and again": { // phase Running, as always then
			change:  first(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }),
			has:     "placed: {a-main: 2, b-main: 1}",
			isNoted: "1 workload with pods that are not ready (default-web 1 of 3): in the scenario all are ready",
		},
		"pods of no kubelet": {
			change: func(o *cluster.Objects) {
				for i := range o.Pods {
					o.Pods[i].Status.Conditions = nil
				}
			},
			isNoted: "4 workloads with pods that are not ready (default-db 1 of 1, default-web 3 of 3, " +
				"kube-system-agent-daemonset 5 of 5 and 1 more)",
		},
		"a claim": {
			change: first(func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{}, {VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			}),
			isNoted: "1 workload with PersistentVolumeClaims (default-web): the scenario has no volumes",
		},
		"claims of all": {
			change: func(o *cluster.Objects) {
				for i := range o.Pods {
					o.Pods[i].Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
				}
			}, // those of the DaemonSet and of the bare pod come back nowhere else
			isNoted: "2 workloads with PersistentVolumeClaims (default-db, default-web): ",
		},
		"a pod on its way out": {
			change:  first(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
			isNoted: "left out: pods that are being deleted (1)",
		},
		"a pod of a node that is gone": {
			change:  first(func(p *corev1.Pod) { p.Spec.NodeName = "n9" }),
			isNoted: "left out: pods on nodes that do not exist (1)",
		},
		"pods that differ": {
			change:  first(tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})),
			hasNot:  "default-web\n    kind: Deployment\n    replicas: 3\n    tolerations",
			isNoted: "pods of one workload differ in tolerations, priority or selectors (default-web)",
		},
		"a pod that tolerates one illness": {
			change: func(o *cluster.Objects) { o.Pods[3].Spec.Tolerations = o.Pods[3].Spec.Tolerations[:1] },
			has: "    tolerationSeconds: 0\n    tolerations:\n    - key: node.kubernetes.io/not-ready\n" +
				"      operator: Exists\n      effect: NoExecute\n      seconds: 60\n",
		},
		"a pod that tolerates illness first, and everything then": {
			change: func(o *cluster.Objects) {
				o.Pods[3].Spec.Tolerations = append(o.Pods[3].Spec.Tolerations,
					corev1.Toleration{Operator: corev1.TolerationOpExists})
			},
			has: "      seconds: 60\n    - {operator: Exists}\n", hasNot: "tolerationSeconds",
		},
		"two illnesses for different times": {
			change: func(o *cluster.Objects) { *o.Pods[3].Spec.Tolerations[0].TolerationSeconds = 5 },
			has:    "      seconds: 5\n", hasNot: "tolerationSeconds",
		},
		"pods that keep apart": {
			change: first(func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}}}}
			}),
			isNoted: "affinity between pods and spread constraints of 1 workload (default-web)",
		},
		"a selector narrower than a pool": {
			change: func(o *cluster.Objects) {
				o.Pods[3].Spec.NodeSelector = map[string]string{corev1.LabelHostname: "n2"}
			},
			has: "pools: [main]", isNoted: "1 workload selecting nodes by more than their pool (default-db): replacements " +
				"may go to any node of the pools, so blast may report a recovery that the cluster does not have",
		},
		"a DaemonSet on some nodes": {
			change: func(o *cluster.Objects) { o.Pods = o.Pods[:len(o.Pods)-1] },
			has:    "placed: {a-gpu: 1, a-main: 2, b-main: 1}",
		},
		"objects that are not used": {
			change:  func(o *cluster.Objects) { o.Unused = map[string]int{"v1 Service": 3} },
			isNoted: "not used: 3 of kind v1 Service",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := shop()
			test.change(o)
			s, notes := imported(t, o, cluster.Config{})
			text := written(t, s)
			require.Contains(t, text, test.has)
			if test.hasNot != "" {
				require.NotContains(t, text, test.hasNot)
			}
			require.Contains(t, strings.Join(notes, "\n"), test.isNoted)
			if test.isAbsent != "" {
				require.NotContains(t, notes, test.isAbsent)
			}
			back, err := scenario.Read("saved.yaml", []byte(text))
			require.NoError(t, err)
			require.Equal(t, s, back)
		})
	}
}

// A claim that ends with its pod is not that of the next one.
func TestEphemeralVolumesAreNotNoted(t *testing.T) {
	o := shop()
	o.Pods[0].Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	_, notes := imported(t, o, cluster.Config{})
	require.Equal(t, []string{noRacks, noBudgets, noFlags}, notes)
}

// One thing is not called several.
func TestACountOfOneIsNoPlural(t *testing.T) {
	s, notes := imported(t, &cluster.Objects{
		Nodes: []corev1.Node{node("n1", "", "main")}, Pods: []corev1.Pod{pod("default", "x", "n1", nil)},
	}, cluster.Config{})
	require.Contains(t, s.Description, "1 node and 1 workload. ")
	for _, note := range notes {
		require.NotRegexp(t, "^1 .*(they|their) ", note)
	}
}

// Labels may be named; then no other counts.
func TestLabelsOfPoolsAndRacks(t *testing.T) {
	o := shop()
	labeled("team", "blue")(&o.Nodes[0])
	s, notes := imported(t, o, cluster.Config{Name: "mine", PoolLabel: "team", RackLabel: "pool"})
	require.Equal(t, "mine", s.Name)
	require.Contains(t, written(t, s), "- {name: a-blue-main, nodes: 1, pool: blue, rack: main}")
	require.Contains(t, notes, "4 nodes without a label for the pool, in no pool")
}

// Nodes are in one zone if zone.ByTopology says so, whatever labels they have.
func TestZonesAreToldApartAsAControllerDoes(t *testing.T) {
	keys := []string{
		corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone,
	}
	o, zones := &cluster.Objects{}, map[string]int{}
	for i := range 81 { // each label is absent, empty or has a value
		n := node(fmt.Sprint("n", i), "", "main")
		delete(n.Labels, corev1.LabelTopologyZone)
		for k, rest := 0, i; k < len(keys); k, rest = k+1, rest/3 {
			if rest%3 > 0 {
				n.Labels[keys[k]] = strings.Repeat(string(rune('a'+k)), rest%3-1)
			}
		}
		o.Nodes = append(o.Nodes, n)
		zones[zone.ByTopology(&n)]++
	}
	o.Pods = []corev1.Pod{pod("default", "x", "n0", nil)}
	s, notes := imported(t, o, cluster.Config{})
	var want, got []int
	for _, count := range zones {
		want = append(want, count)
	}
	for _, z := range s.Cluster.Zones {
		got = append(got, z.Nodes)
	}
	require.ElementsMatch(t, want, got)
	require.Contains(t, notes, "45 nodes without the label topology.kubernetes.io/zone, in zone no-zone")
}

// Names that are alike once they are DNS labels stay apart.
func TestNamesStayApart(t *testing.T) {
	o := shop()
	long := strings.Repeat("x", 70)
	o.Pods = append(o.Pods, pod("a", "b.c", "n1", nil), pod("a", "b-c", "n1", nil), pod("a", long, "n1", nil),
		pod("a", long+"y", "n1", nil), pod("a-b", "c", "n1", nil))
	s, _ := imported(t, o, cluster.Config{})
	require.Len(t, s.Cluster.Workloads, 9)
}
