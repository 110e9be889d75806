package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
	"github.com/kubelife/lifecycle/nodehealth"
)

// slowness is what is wrong with the API server, for half an hour, and how the
// controllers decide which of them acts.
type slowness struct {
	latency time.Duration // of each call of a controller, a tenth more or less
	share   float64       // of the calls of controllers and kubelets that fail
	lead    string
}

const (
	alone     = "without election"
	single    = "one replica"
	twofold   = "two replicas"
	slowFrom  = 5 * time.Minute
	slowFor   = 30 * time.Minute
	deathAt   = 8 * time.Minute
	slowUntil = slowFrom + slowFor
)

// scenario is twelve nodes, one of which dies.
func (s slowness) scenario(seed uint64) *scenario.Scenario {
	d := func(d time.Duration) scenario.Duration { return scenario.Duration(d) }
	description := &scenario.Scenario{
		Name: "slow", Seed: seed, Duration: d(55 * time.Minute),
		Cluster: scenario.Cluster{
			Zones:     []scenario.Zone{{Name: "a", Nodes: 6}, {Name: "b", Nodes: 6}},
			Workloads: []scenario.Workload{{Name: "web", Kind: scenario.Deployment, Replicas: 24}},
		},
		Controller: scenario.Controller{Replicas: 1},
		Script: []scenario.Step{
			{
				At: d(slowFrom), For: d(slowFor),
				APILatency: &scenario.Range{Min: d(s.latency * 9 / 10), Max: d(s.latency*11/10 + 1)},
			},
			{At: d(deathAt), Silence: &scenario.Nodes{Names: []string{"a-0"}}},
		},
	}
	if s.share > 0 {
		description.Script = append(description.Script, scenario.Step{
			At: d(slowFrom), For: d(slowFor),
			APIErrors: &scenario.APIErrors{Share: s.share, Codes: []int{500, 503}, Kubelets: true},
		})
	}
	switch s.lead {
	case alone:
		description.Controller.Flags = map[string]scenario.FlagValue{"leader-elect": "false"}
	case twofold:
		description.Controller.Replicas = 2
	}
	return description
}

// seenOf is what came of it.
type seenOf struct {
	model.Unimpressed
	world    *model.World
	living   int           // nodes that were declared and live
	declared time.Duration // when the dead node was
	left     time.Duration // when the last of its pods was made to leave
}

func (s *seenOf) WroteNode(w model.NodeWrite) {
	if w.Call == nil || w.Before == nil || w.After == nil || nodehealth.ReadyStatus(w.After) != corev1.ConditionUnknown ||
		nodehealth.ReadyStatus(w.Before) == corev1.ConditionUnknown {
		return
	}
	if s.world.Machine(w.After.Name).Silent() {
		s.declared = s.world.Elapsed()
	} else {
		s.living++
	}
}

func (s *seenOf) WrotePod(w model.PodWrite) {
	if w.Call != nil && w.After != nil && w.After.DeletionTimestamp != nil && w.After.Spec.NodeName == "a-0" {
		s.left = s.world.Elapsed()
	}
}

// play plays a scenario in which every invariant holds.
func (s slowness) play(t *testing.T, description *scenario.Scenario) *seenOf {
	t.Helper()
	run, err := simulation.New(description)
	require.NoError(t, err)
	seen := &seenOf{world: run.World()}
	run.World().Watch(seen)
	judge := run.Judge()
	run.Run()
	judge.End()
	require.Empty(t, judge.Violations(), "%+v, seed %d", s, description.Seed)
	return seen
}

// H4: for each latency, share of failing calls and way to lead: no living node
// is declared, a dead one is by a time, and its pods leave by another. A leader
// gives up a call about its lease after 5 s, so with an election none leads
// while calls take longer; kube-controller-manager does the same. README of
// nodelifecycle has the table. LIFECYCLE_TESTS=all plays all of it.
func TestH4ADeadNodeIsDeclaredThroughASlowAPIServer(t *testing.T) {
	latencies, shares := []time.Duration{4500 * time.Millisecond, 20 * time.Second}, []float64{0, 0.5}
	if seeds.Full() {
		latencies = append(latencies, 0, time.Second, 2500*time.Millisecond, 7*time.Second, 10*time.Second, 15*time.Second)
		shares = append(shares, 0.1, 0.3, 0.8, 0.9)
	}
	for _, lead := range []string{alone, single, twofold} {
		for _, share := range shares {
			for _, latency := range latencies {
				s := slowness{latency, share, lead}
				for seed := range uint64(seeds.Sized(1, 3)) {
					seen := s.play(t, s.scenario(seed+1))
					declared, left := s.latest()
					require.Zero(t, seen.living, "%+v, seed %d", s, seed)
					require.WithinRange(t, clock(seen.declared), clock(deathAt+40*time.Second), clock(deathAt+declared), "%+v", s)
					require.WithinRange(t, clock(seen.left), clock(deathAt+340*time.Second), clock(deathAt+left), "%+v", s)
				}
			}
		}
	}
}

func clock(since time.Duration) time.Time { return time.Unix(0, 0).Add(since) }

// latest returns by when a dead node is declared and its pods have left, after
// it has died.
func (s slowness) latest() (declared, left time.Duration) {
	// Half a minute to lead again, two heartbeat intervals or a grace period, and
	// the pods' five minutes after that.
	end := slowUntil - deathAt + 90*time.Second
	within := map[float64]time.Duration{0: 0, 0.1: time.Minute, 0.3: 3 * time.Minute}
	if most, helps := within[s.share]; helps && s.leads() {
		// A read and a declaration, then a taint, and two calls to make a pod leave.
		slow := s.latency * 11 / 10
		declared = min(50*time.Second+2*slow+most+time.Second, end)
		left = 11*time.Second + 300*time.Second + declared + 3*slow + most
	} else {
		declared, left = end, end+6*time.Minute
	}
	return declared, left
}

// leads reports whether a replica can lead, and goes on to: within 10 s a leader
// has time for a second try.
func (s slowness) leads() bool {
	return s.lead == alone || s.latency < 3*time.Second || s.latency < 5*time.Second && s.share == 0
}

// H4: a store that can be read and not be written takes no heartbeat, and says
// so in no answer to a read. No living node is declared, during it and after it; a
// dead one is soon after it.
func TestH4NoLivingNodeIsDeclaredForAStoreThatIsReadOnly(t *testing.T) {
	for _, lead := range []string{alone, single, twofold} {
		for _, lasts := range []time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute} {
			for seed := range uint64(seeds.Sized(2, 20)) {
				s := slowness{lead: lead}
				description := s.scenario(seed + 1)
				description.Script = []scenario.Step{
					{At: scenario.Duration(slowFrom), For: scenario.Duration(lasts), ReadOnlyStore: &scenario.ReadOnlyStore{}},
					{At: scenario.Duration(slowFrom + 30*time.Second), Silence: &scenario.Nodes{Names: []string{"a-0"}}},
				}
				seen := s.play(t, description)
				require.Zero(t, seen.living, "%s, %v, seed %d", lead, lasts, seed)
				end := slowFrom + lasts
				require.WithinRange(t, clock(seen.declared), clock(end+20*time.Second), clock(end+100*time.Second),
					"%s, %v, seed %d", lead, lasts, seed)
			}
		}
	}
}
