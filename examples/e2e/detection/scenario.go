package detection

import (
	"context"
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/detection/judge"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A scenario says which nodes die, and when.
type scenario struct {
	// name is what --scenario calls it.
	name string
	// title is the corner of its table. It depends on flags that are read later.
	title func() string
	// act lets nodes die, and returns when the last have. Nil: none dies, and the
	// informers alone run beside the subject. It takes many nodes and some minutes
	// until their costs differ by more than the ticks of the clock, so that is
	// played only when it is named.
	act func(context.Context, *world) error
	// dying is how many nodes die.
	dying func() int
}

// Heading is that of its table.
func (s scenario) Heading() sidebyside.Heading {
	return sidebyside.Heading{Name: s.name, Title: s.title(), Named: s.act == nil}
}

// losing are the zones that die in the scenario zones, in order. The zone of
// the other nodes lives.
var losing = []string{"a", "b", "c"}

const lasting = "d"

// zones returns the number of nodes of each zone.
func (o *options) zones() map[string]int {
	zones := map[string]int{lasting: o.nodes - len(losing)*(o.nodes*3/10)}
	for _, zone := range losing {
		zones[zone] = o.nodes * 3 / 10
	}
	return zones
}

func (o *options) scenarios() []scenario {
	return []scenario{
		{
			name: "cut",
			title: func() string {
				return fmt.Sprintf("%s of %s nodes die at once", sidebyside.Thousands(o.cut), sidebyside.Thousands(o.nodes))
			},
			dying: func() int { return o.cut },
			act: func(_ context.Context, w *world) error {
				w.Kill(w.mixed()[:w.cut]...)
				return nil
			},
		},
		{
			name: "zones",
			title: func() string {
				return fmt.Sprintf("%d zones of %s of %s nodes die, %.0f s apart", len(losing),
					sidebyside.Thousands(o.zones()[losing[0]]), sidebyside.Thousands(o.nodes), o.times.gap.Seconds())
			},
			dying: func() int { return len(losing) * o.zones()[losing[0]] },
			act: func(ctx context.Context, w *world) error {
				for i, zone := range losing {
					if i > 0 {
						if err := wait.Pause(ctx, w.times.gap); err != nil {
							return err
						}
					}
					w.Kill(w.Nodes(zone)...)
				}
				return nil
			},
		},
		{
			name:  "rest",
			title: func() string { return fmt.Sprintf("%s nodes at rest", sidebyside.Thousands(o.nodes)) },
			dying: func() int { return 0 },
		},
	}
}

// mostPods is the kubelet's default of --max-pods.
const mostPods = 110

// A kind is one pod of each node.
type kind struct {
	name      string
	tolerates time.Duration
}

// kinds returns the pods of a node. Of ten, six leave at once, two tolerate a
// silent node for a while and two for ever. Three have one of each.
func (o *options) kinds() []kind {
	pattern := []kind{
		{"soon", 0}, {"patient", o.times.patient}, {"tolerant", judge.Forever}, {"soon", 0}, {"soon", 0},
		{"soon", 0}, {"soon", 0}, {"patient", o.times.patient}, {"tolerant", judge.Forever}, {"soon", 0},
	}
	var kinds []kind
	for i := range o.pods / o.nodes {
		k := pattern[i%len(pattern)]
		kinds = append(kinds, kind{fmt.Sprintf("%s%d", k.name, i), k.tolerates})
	}
	return kinds
}

// pod returns the kind for the fleet.
func (k kind) pod() fleet.Pod {
	if k.tolerates == judge.Forever {
		return fleet.Pod{Name: k.name, Tolerations: fleet.Tolerate(nil)}
	}
	return fleet.Pod{Name: k.name, Tolerations: fleet.Tolerate(new(int64(k.tolerates / time.Second)))}
}

// leaving is how many pods of a dead node must leave.
func (o *options) leaving() (n int) {
	for _, k := range o.kinds() {
		if k.tolerates != judge.Forever {
			n++
		}
	}
	return n
}
