package simulation

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
	"github.com/kubelife/lifecycle/timedqueue"
)

// A process is one life of the controller: the core and the edge of the real
// program. The dispatcher and the informers, which wait, are its own.
type process struct {
	*cluster

	faults  *faults
	config  controller.Config
	life    *invariant.Life
	core    *controller.Controller
	jobs    timedqueue.Source[timedqueue.Job]
	edge    *edge.Edge[*appsv1.DaemonSet]
	watches [invariant.Kinds]*virtualtime.Watch
	errands map[*errand]struct{}
	ended   bool
	awake   bool // a turn is planned
	alarm   virtualtime.Alarm
	// shownAt is when a watch has shown something last. While expiring, the wait
	// for own writes is to be ended.
	shownAt  time.Duration
	expiring bool
}

// start begins a life. Its caches are up to age old.
func start(c *cluster, f *faults, config controller.Config, age time.Duration) (*process, error) {
	p := &process{
		cluster: c, faults: f, config: config, life: &invariant.Life{}, errands: map[*errand]struct{}{},
	}
	c.history.Lives = append(c.history.Lives, p.life)
	var err error
	if p.core, err = controller.NewController(config, c.Now()); err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	for kind := range invariant.Kinds {
		p.watches[kind] = &virtualtime.Watch{
			Timeline: c.Timeline, Log: &c.logs[kind], Transform: transformOf(kind), Shown: p.shown,
		}
	}
	if p.edge, err = p.newEdge(); err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	actions := p.edge.Actions()
	actions.ChangePod = p.asOtherKinds(actions.ChangePod)
	if p.jobs, err = p.core.Jobs(actions, c.Now()); err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	for kind, handler := range map[invariant.Kind]cache.ResourceEventHandler{
		invariant.Sets: p.edge.Sets, invariant.Pods: p.edge.Pods,
		invariant.Nodes: p.edge.Nodes, invariant.Revisions: p.edge.Revisions,
	} {
		p.watches[kind].Handler = handler
	}
	for i, w := range p.watches {
		kind, at := invariant.Kind(i), c.Now().Add(-c.between(0, age))
		w.List(c.logs[kind].VersionAt(at), func() time.Duration { return p.watchDelay(f, kind) })
	}
	p.core.MarkSynced(c.Now())
	p.wake()
	return p, nil
}

func (p *process) newEdge() (*edge.Edge[*appsv1.DaemonSet], error) {
	return edge.NewEdge(edge.Config[*appsv1.DaemonSet]{
		Controller: p.core,
		Observe:    func(turn func(now time.Time)) { turn(p.Now()) },
		SetOf:      controller.SetOf,
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
		Sets: func(string) revision.OwnerClient[*appsv1.DaemonSet] {
			return client[*appsv1.DaemonSet]{invariant.Sets}
		},
		Pods: func(string) edge.Pods { return client[*corev1.Pod]{invariant.Pods} },
		Revisions: func(string) revision.Client {
			return client[*appsv1.ControllerRevision]{invariant.Revisions}
		},
		Stores: edge.Stores{
			Sets: p.watches[invariant.Sets], Pods: p.watches[invariant.Pods],
			Revisions: p.watches[invariant.Revisions],
		},
	})
}

// end kills the process. What it has sent arrives, and is not answered.
func (p *process) end() {
	p.ended = true
	for _, w := range p.watches {
		w.Close()
	}
	for e := range p.errands {
		delete(p.errands, e)
		e.stop()
	}
}

// told shows a change by and by.
func (p *process) told(change *invariant.Change) {
	if !p.ended {
		p.watches[change.Kind].Show(logged(change), p.watchDelay(p.faults, change.Kind))
	}
}

// ownWriteTimeout is that of feed.
const ownWriteTimeout = time.Minute

// shown is called after each report of a watch.
func (p *process) shown() {
	p.wake()
	p.shownAt = p.Elapsed()
	if !p.expiring {
		p.expiring = true
		p.After(ownWriteTimeout, p.expire)
	}
}

// expire ends the wait for own writes a timeout after the last report, where
// feed.Expiring does once a second: those of before have done it too.
func (p *process) expire() {
	if p.ended {
		return
	}
	if rest := p.shownAt + ownWriteTimeout - p.Elapsed(); rest > 0 {
		p.After(rest, p.expire)
		return
	}
	p.expiring = false
	p.edge.Expire()
	p.wake()
}

// wake plans a turn for now.
func (p *process) wake() {
	if p.awake || p.ended {
		return
	}
	p.awake = true
	p.After(0, p.turn)
}

// turn hands out tasks to the workers that are free.
func (p *process) turn() {
	p.awake = false
	if p.ended {
		return
	}
	for len(p.errands) < p.config.MostUnderWay() {
		job, ok := p.jobs.Start(p.Now())
		if !ok {
			p.setAlarm()
			return
		}
		decision := &invariant.Decision{Life: p.life, Order: p.nextEvent(), At: p.Now()}
		for kind, w := range p.watches {
			decision.Seen[kind] = w.Version()
		}
		p.perform(job, decision)
	}
}

func (p *process) setAlarm() {
	if next, ok := p.jobs.Next(p.Now()); ok {
		p.alarm.Set(p.Timeline, next, p.wake)
	}
}

// halt has the core delete no pod until resume.
func (p *process) halt() {
	if last := len(p.life.Halts) - 1; last >= 0 && p.life.Halts[last].To == 0 {
		return
	}
	p.core.Halt(p.Now())
	p.life.Halts = append(p.life.Halts, invariant.Span{From: p.nextEvent()})
	p.wake()
}

func (p *process) resume() {
	p.core.Resume(p.Now())
	if last := len(p.life.Halts) - 1; last >= 0 && p.life.Halts[last].To == 0 {
		p.life.Halts[last].To = p.nextEvent()
	}
	p.wake()
}
