package report_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// recount counts the nodes of a zone by state each second, from the objects
// alone, and the pods that a budget keeps.
type recount struct {
	model.Unimpressed
	world   *model.World
	at      []report.Seconds
	zones   map[string]*report.ZoneSeries
	refused map[types.UID]bool
	calls   int
}

func newRecount(s *simulation.Simulation) *recount {
	r := &recount{world: s.World(), zones: make(map[string]*report.ZoneSeries), refused: make(map[types.UID]bool)}
	for _, z := range s.Scenario().Cluster.Zones {
		r.zones[z.Name] = &report.ZoneSeries{Name: z.Name}
	}
	r.world.Watch(r)
	r.tick()
	return r
}

func (r *recount) Sent(call *network.Call) {
	if call.Kind != network.LeaderLease && !call.BeginsWatch() {
		r.calls++
	}
}

func (r *recount) Answered(call *network.Call) {
	if model.Refused(call) {
		r.refused[*call.Preconditions.UID] = true
	}
}

func (r *recount) tick() {
	r.at = append(r.at, report.SecondsOf(r.world.Elapsed()))
	n := len(r.at) - 1
	for _, z := range r.zones {
		for _, list := range []*[]int{&z.Ready, &z.Silent, &z.NotReady, &z.Tainted, &z.Waiting, &z.Blocked} {
			*list = append(*list, 0)
		}
	}
	for _, m := range r.world.Machines() {
		object := r.world.Node(m.Name)
		if object == nil {
			continue
		}
		z := r.zones[object.Labels[corev1.LabelTopologyZone]]
		ready, ours, danger := false, false, false
		for _, c := range object.Status.Conditions {
			ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		for _, t := range object.Spec.Taints {
			danger = danger || t.Effect == corev1.TaintEffectNoExecute
			ours = ours || t.Effect == corev1.TaintEffectNoExecute &&
				(t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable)
		}
		switch {
		case ours:
			z.Tainted[n]++
		case !ready:
			z.NotReady[n]++
		case !m.Reaches():
			z.Silent[n]++
		default:
			z.Ready[n]++
		}
		if ready && !danger {
			continue
		}
		for _, pod := range r.world.PodsOn(m.Name) {
			if pod.DeletionTimestamp != nil || staysForEver(pod) {
				continue
			}
			z.Waiting[n]++
			if r.refused[pod.UID] {
				z.Blocked[n]++
			}
		}
	}
	r.world.At(r.world.Elapsed()+time.Second, r.tick)
}

// staysForEver is true of the pods of a scenario's DaemonSets, which tolerate
// what the controller sets, and false of all others.
func staysForEver(pod *corev1.Pod) bool {
	for _, t := range pod.Spec.Tolerations {
		if t.TolerationSeconds == nil && (t.Key == corev1.TaintNodeUnreachable || t.Key == "") {
			return true
		}
	}
	return false
}

// The series are what a count of all objects in each second gives.
func TestSeriesAgreeWithACountOfTheObjects(t *testing.T) {
	seconds := int64(60)
	cut := small(
		scenario.Step{At: minutes(2), For: minutes(5), Silence: rack(1)},
		scenario.Step{At: minutes(4), For: minutes(2), Silence: &scenario.Nodes{Zone: "b"}},
	)
	cut.Duration = minutes(12)
	kept := small(scenario.Step{At: minutes(1), For: minutes(7), Silence: rack(2)})
	kept.Duration = minutes(12)
	kept.Script = append(kept.Script, scenario.Step{At: minutes(9), Crash: &scenario.Process{}})
	kept.Cluster.Workloads = []scenario.Workload{
		{Name: "web", Replicas: 48, TolerationSeconds: &seconds, MinAvailable: 47},
	}
	kept.Controller.Flags = map[string]scenario.FlagValue{"action": "evict", "node-eviction-rate": "1"}
	for name, description := range map[string]*scenario.Scenario{"cut off and back": cut, "kept by a budget": kept} {
		t.Run(name, func(t *testing.T) {
			s, err := simulation.New(description)
			require.NoError(t, err)
			recorder := report.Watch(s, nil)
			counted := newRecount(s)
			s.Run()
			document := recorder.Document()
			series := document.Series
			require.Equal(t, report.Seconds(1), series.Step)
			require.Equal(t, counted.at, series.At)
			for _, z := range series.Zones {
				want := counted.zones[z.Name]
				require.Equal(t, want.Ready, z.Ready)
				require.Equal(t, want.Silent, z.Silent)
				require.Equal(t, want.NotReady, z.NotReady)
				require.Equal(t, want.Tainted, z.Tainted)
				require.Equal(t, want.Waiting, z.Waiting)
				require.Equal(t, want.Blocked, z.Blocked)
			}
			require.Equal(t, float64(counted.calls), sum(series.Calls))
			require.Positive(t, counted.calls)
			require.Equal(t, 20.0, series.CallLimit, "the default of --kube-api-qps")

			a := document.Series.Zones[0]
			last := len(series.At) - 1
			require.Equal(t, document.Summary.Zones[0].Pods.Evicted, a.Evicted[last])
			require.Equal(t, name == "cut off and back", a.Evicted[last] > 0)
			require.Equal(t, document.Summary.Zones[0].Pods.Waiting, a.Waiting[last])
			require.Equal(t, document.Summary.Zones[0].Tainted.Nodes, most(a.Tainted))
			require.Equal(t, document.Summary.Zones[0].Peak.Tainted, most(a.Tainting))
			require.Equal(t, name == "kept by a budget", most(a.Blocked) > 0)
		})
	}
}

func sum(list []float64) (sum float64) {
	for _, v := range list {
		sum += v
	}
	return sum
}

func most(list []int) (most int) {
	for _, v := range list {
		most = max(most, v)
	}
	return most
}

// Whatever happens, the states of a zone's nodes add up to its nodes. No taint
// is given more often than the rate allows, and the same seed gives the same.
func TestSeriesOfTheScenariosThatShip(t *testing.T) {
	for _, name := range []string{"storm-recovery", "zone-drain", "restart-in-mid-storm"} {
		t.Run(name, func(t *testing.T) {
			description, err := scenarios.Read(name)
			require.NoError(t, err)
			run := func() *report.Document {
				s, err := simulation.New(description)
				require.NoError(t, err)
				recorder := report.Watch(s, nil)
				s.Run()
				return recorder.Document()
			}
			document := run()
			require.LessOrEqual(t, len(document.Series.At), report.MostPoints)
			for i, z := range document.Series.Zones {
				for at := range document.Series.At {
					require.Equal(t, document.Summary.Zones[i].Nodes, z.Ready[at]+z.Silent[at]+z.NotReady[at]+z.Tainted[at])
					require.LessOrEqual(t, z.Blocked[at], z.Waiting[at])
					require.LessOrEqual(t, float64(z.Tainting[at]), z.Limit[at]+0.01)
					require.GreaterOrEqual(t, z.Evicted[at], z.Evicted[max(at-1, 0)])
				}
			}
			one, err := json.Marshal(document.Series)
			require.NoError(t, err)
			two, err := json.Marshal(run().Series)
			require.NoError(t, err)
			require.Equal(t, string(one), string(two))
		})
	}
}
