package blindness

import (
	"context"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A scenario is a time in which a subject sees little, while nodes beat and
// some die.
type scenario struct {
	// name is what --scenario calls it, title its row of the table.
	name, title string
	// zones has a number of nodes for each zone, whose name is one letter. The
	// last node of each zone dies.
	zones map[string]int
	// replicas is how many processes of the subject there are. More than one elect
	// a leader.
	replicas int
	// proxied says that the subject reaches the API server through a proxy.
	proxied bool
	// findable says that the subject runs and the API server answers it all the
	// time. So the dead are to be found during the fault, and not only after it.
	findable bool
	// act plays the fault, and returns when it is over.
	act func(context.Context, *world) error
}

// Heading is that of its row.
func (s scenario) Heading() sidebyside.Heading {
	return sidebyside.Heading{Name: s.name, Title: s.title}
}

// hundred are a hundred nodes.
func hundred() map[string]int { return map[string]int{"a": 40, "b": 30, "c": 30} }

// scenarios are those of the table. The longest come first, so that all
// together take less time when several are played at a time.
func scenarios() []scenario {
	return []scenario{
		outage("outage-5m", "kube-apiserver killed for five minutes", 5*time.Minute, 1),
		outage("outage-5m-takeover", "the same, and the leader killed meanwhile", 5*time.Minute, 2),
		rolling(),
		outage("outage-1m", "kube-apiserver killed for a minute", time.Minute, 1),
		outage("outage-1m-takeover", "the same, and the leader killed meanwhile", time.Minute, 2),
		late(),
		silent(),
		stopped("stop-takeover",
			"the leader of two stopped (SIGSTOP) for two grace periods, then continued", 2),
		stopped("stop", "SIGSTOP for two grace periods, then SIGCONT", 1),
	}
}

// stopped: the process of the leader stands still for two grace periods. Nodes
// die after half of the first.
func stopped(name, title string, n int) scenario {
	return scenario{
		name: name, title: title, zones: hundred(), replicas: n,
		act: func(ctx context.Context, w *world) error {
			begun := time.Now()
			if err := w.running.First().Pause(); err != nil {
				return err
			}
			if err := wait.Pause(ctx, grace/2); err != nil {
				return err
			}
			w.killDoomed()
			if err := wait.PauseUntil(ctx, begun.Add(2*grace)); err != nil {
				return err
			}
			return w.resume(n)
		},
	}
}

// outage: kube-apiserver is killed and comes back after a time, with the same
// data. Nodes die while it is down and, of two replicas, the one that leads.
func outage(name, title string, length time.Duration, n int) scenario {
	return scenario{
		name: name, title: title, zones: hundred(), replicas: n,
		act: func(ctx context.Context, w *world) error {
			return w.outage(ctx, length, func() error {
				if err := wait.Pause(ctx, 3*time.Second); err != nil {
					return err
				}
				w.killDoomed()
				if n > 1 {
					w.running.Dismiss(w.running.First())
					w.running.First().Kill()
				}
				return nil
			})
		},
	}
}

// late: what watches answer comes half a grace period late, and each of them is
// cut every 15 s.
func late() scenario {
	return scenario{
		name: "watch-late", title: "watches 10 s late for a minute, and cut every 15 s",
		zones: hundred(), replicas: 1, proxied: true, findable: true,
		act: watches(10*time.Second, 15*time.Second, time.Minute),
	}
}

// silent: watches stay open and nothing comes through them.
func silent() scenario {
	return scenario{
		name: "watch-silent", title: "nothing comes through watches for a minute, and none is cut",
		zones: hundred(), replicas: 1, proxied: true, findable: true,
		act: watches(time.Hour, time.Hour, time.Minute),
	}
}

// watches delays watches for a time, and cuts them again and again. Nodes die
// after ten seconds.
func watches(delay, period, length time.Duration) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		begun := time.Now()
		end := begun.Add(length)
		w.proxy.setDelay(delay)
		if err := wait.Pause(ctx, 10*time.Second); err != nil {
			return err
		}
		w.killDoomed()
		for cut := begun.Add(period); cut.Before(end); cut = cut.Add(period) {
			if err := wait.PauseUntil(ctx, cut); err != nil {
				return err
			}
			w.proxy.cut()
		}
		if err := wait.PauseUntil(ctx, end); err != nil {
			return err
		}
		w.proxy.setDelay(0)
		w.proxy.cut() // what is held back is late
		return nil
	}
}

// rolling: of 500 nodes 25 are silent at a time, each for less than its grace
// period. Others die meanwhile.
func rolling() scenario {
	const batch = 25
	return scenario{
		name: "rolling", title: "500 nodes, of which 25 at a time are silent for 12 s, all in turn",
		zones: map[string]int{"a": 200, "b": 150, "c": 150}, replicas: 1, findable: true,
		act: func(ctx context.Context, w *world) error {
			// With the beat before and the one after it is silent for less than grace.
			silence := grace * 3 / 5
			nodes := lasting(w.AllNodes())
			for first := 0; first < len(nodes); first += batch {
				cut := nodes[first:min(first+batch, len(nodes))]
				w.Cut(cut...)
				if first == 2*batch {
					w.killDoomed()
				}
				if err := wait.Pause(ctx, silence); err != nil {
					return err
				}
				w.Restore(cut...)
			}
			return nil
		},
	}
}
