package main

import (
	"context"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A scenario is a time in which a subject sees little, while nodes beat and
// some die.
type scenario struct {
	// Name is what --scenario calls it, Title its row of the table.
	Name, Title string
	// Zones has a number of nodes for each zone, whose name is one letter. The
	// last node of each zone dies.
	Zones map[string]int
	// Replicas is how many processes of the subject there are. More than one elect
	// a leader.
	Replicas int
	// Proxied says that the subject reaches the API server through a proxy.
	Proxied bool
	// Findable says that the subject runs and the API server answers it all the
	// time. So the dead are to be found during the fault, and not only after it.
	Findable bool
	// Act plays the fault, and returns when it is over.
	Act func(context.Context, *world, *replicas) error
}

// FlagName is what --scenario calls it.
func (s scenario) FlagName() string { return s.Name }

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
		Name: name, Title: title, Zones: hundred(), Replicas: n,
		Act: func(ctx context.Context, w *world, r *replicas) error {
			begun := time.Now()
			if err := r.pause(); err != nil {
				return err
			}
			if err := wait.Pause(ctx, w.times.grace/2); err != nil {
				return err
			}
			w.kill()
			if err := wait.PauseUntil(ctx, begun.Add(2*w.times.grace)); err != nil {
				return err
			}
			return r.resume()
		},
	}
}

// outage: kube-apiserver is killed and comes back after a time, with the same
// data. Nodes die while it is down and, of two replicas, the one that leads.
func outage(name, title string, length time.Duration, n int) scenario {
	return scenario{
		Name: name, Title: title, Zones: hundred(), Replicas: n,
		Act: func(ctx context.Context, w *world, r *replicas) error {
			return w.outage(ctx, length, func() error {
				if err := wait.Pause(ctx, 3*time.Second); err != nil {
					return err
				}
				w.kill()
				if n > 1 {
					r.kill()
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
		Name: "watch-late", Title: "watches 10 s late for a minute, and cut every 15 s",
		Zones: hundred(), Replicas: 1, Proxied: true, Findable: true,
		Act: watches(10*time.Second, 15*time.Second, time.Minute),
	}
}

// silent: watches stay open and nothing comes through them.
func silent() scenario {
	return scenario{
		Name: "watch-silent", Title: "nothing comes through watches for a minute, and none is cut",
		Zones: hundred(), Replicas: 1, Proxied: true, Findable: true,
		Act: watches(time.Hour, time.Hour, time.Minute),
	}
}

// watches delays watches for a time, and cuts them again and again. Nodes die
// after ten seconds.
func watches(delay, period, length time.Duration) func(context.Context, *world, *replicas) error {
	return func(ctx context.Context, w *world, r *replicas) error {
		begun := time.Now()
		end := begun.Add(length)
		r.proxy.setDelay(delay)
		if err := wait.Pause(ctx, 10*time.Second); err != nil {
			return err
		}
		w.kill()
		for cut := begun.Add(period); cut.Before(end); cut = cut.Add(period) {
			if err := wait.PauseUntil(ctx, cut); err != nil {
				return err
			}
			r.proxy.cut()
		}
		if err := wait.PauseUntil(ctx, end); err != nil {
			return err
		}
		r.proxy.setDelay(0)
		r.proxy.cut() // what is held back is late
		return nil
	}
}

// rolling: of 500 nodes 25 are silent at a time, each for less than its grace
// period. Others die meanwhile.
func rolling() scenario {
	const batch = 25
	return scenario{
		Name: "rolling", Title: "500 nodes, of which 25 at a time are silent for 12 s, all in turn",
		Zones: map[string]int{"a": 200, "b": 150, "c": 150}, Replicas: 1, Findable: true,
		Act: func(ctx context.Context, w *world, _ *replicas) error {
			// With the beat before and the one after it is silent for less than grace.
			silence := w.times.grace * 3 / 5
			nodes := lasting(w.fleet.AllNodes())
			for first := 0; first < len(nodes); first += batch {
				cut := nodes[first:min(first+batch, len(nodes))]
				w.fleet.Cut(cut...)
				if first == 2*batch {
					w.kill()
				}
				if err := wait.Pause(ctx, silence); err != nil {
					return err
				}
				w.fleet.Restore(cut...)
			}
			return nil
		},
	}
}
