package controller

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// steadyDetector has one grace period for all keys. A controller with a
// detector takes no heartbeat the short way.
type steadyDetector struct{}

func (steadyDetector) Heartbeat(time.Time)        {}
func (steadyDetector) GracePeriod() time.Duration { return grace }

// Whatever happens to nodes, and whenever the API server answers, zones count
// each node as it is. Once all nodes beat and the API server answers, nothing
// stays unconfirmed and nothing held.
func TestZ6RandomBlindnessLeavesNothingHeld(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"as it is":         func(*Config) {},
		"unconfirmed":      func(c *Config) { c.DeclareUnconfirmed = true },
		"recovery period":  func(c *Config) { c.Health.RecoveryPeriod = 25 * time.Second },
		"detector":         func(c *Config) { c.Health.Detector = func() nodehealth.Detector { return steadyDetector{} } },
		"combined sources": func(c *Config) { c.Health.Combine = nodehealth.Heard.Latest },
		"eviction by node": func(c *Config) { c.EvictionMode, c.PodEvictionTimeout = EvictionModeNode, time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 10 {
				seed := rand.Uint64()
				config := Config{Health: nodehealth.Config{SightTimeout: sightTimeout}}
				change(&config)
				w := newWorld(t, config)
				w.addNodes(4, "a")
				w.addNodes(4, "b")
				w.addNodes(2, "c")
				w.start()
				random := rand.New(rand.NewPCG(seed, 7))
				for range 400 {
					w.disturb(random)
					w.recount(seed)
				}
				w.heal()
				w.recount(seed)
				for _, z := range w.c.Zones() {
					require.Zero(t, z.Counts.Unconfirmed, "seed %d", seed)
				}
				w.run(2 * grace)
				require.Equal(t, zone.PhaseActive, w.c.Phase(), "seed %d", seed)
			}
		})
	}
}

// disturb does something to the cluster, to what is seen of it, or to time.
func (w *world) disturb(random *rand.Rand) {
	name := w.names()[random.IntN(len(w.nodes))]
	relabeled := w.nodes[name].DeepCopy()
	switch random.IntN(14) {
	case 0, 1, 2:
		w.c.Answered(w.now, w.now)
	case 3:
		w.advance(time.Duration(random.IntN(20)) * time.Second)
	case 4:
		w.run(time.Duration(random.IntN(60)) * time.Second)
	case 5:
		w.silent[name] = !w.silent[name]
	case 6:
		statuses := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionTrue}
		w.report(name, statuses[random.IntN(3)])
	case 7:
		if zone.Excluded(relabeled) {
			delete(relabeled.Labels, zone.LabelExcludeDisruption)
		} else {
			relabeled.Labels[zone.LabelExcludeDisruption] = ""
		}
		w.setNode(relabeled)
	case 8:
		relabeled.Labels[corev1.LabelTopologyZone] = string("abcd"[random.IntN(4)])
		w.setNode(relabeled)
	case 9:
		if random.IntN(2) == 0 {
			w.deleteNode(name)
		}
		w.version++
		w.addNode(name, string("abc"[random.IntN(3)]))
	case 10:
		w.fail = nil
		if random.IntN(2) == 0 {
			w.fail = func(any) error { return errServer }
		}
	case 11:
		if w.blind = !w.blind; !w.blind {
			w.relist()
		}
	case 12:
		w.c.Lead(w.now)
	case 13:
		w.now = w.now.Add(time.Duration(random.IntN(10)) * time.Second)
		w.c.Idle(w.now)
	}
}

// heal ends all faults, and gives each node time to be heard.
func (w *world) heal() {
	w.fail, w.blind = nil, false
	for _, name := range w.names() {
		w.silent[name], w.next[name] = false, w.now
	}
	w.relist()
	w.run(2 * interval)
}

// recount compares the counts of all zones with the nodes one by one.
func (w *world) recount(seed uint64) {
	w.t.Helper()
	ready, counts := 0, map[string]zone.Counts{}
	for _, n := range w.c.objects.ordered {
		of := counts[n.zone]
		is := w.c.zones.countsInZone(n)
		switch {
		case is.Excluded:
		case is.Unconfirmed:
			of.Unconfirmed++
		case is.Ready:
			of.Ready++
			ready++
		default:
			of.NotReady++
		}
		counts[n.zone] = of
	}
	require.Equal(w.t, ready, w.c.zones.ready, "seed %d", seed)
	for _, z := range w.c.Zones() {
		require.Equal(w.t, counts[z.Zone], z.Counts, "seed %d: zone %s", seed, z.Zone)
	}
}
