package cri

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

var _ Runtime = (*Fake)(nil)

// NewFake returns a runtime without pods.
func NewFake(now time.Time) (*Fake, error) {
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[timer, struct{}]{}, now)
	if err != nil {
		return nil, err
	}
	free, err := newAddresses(defaultNetwork)
	if err != nil {
		return nil, err
	}
	plain := plainScript()
	return &Fake{
		plain: &plain, queue: queue, pods: map[types.UID]*podRecord{}, machines: map[string]*machine{},
		addresses: free,
	}, nil
}

// SetPodNetwork makes sandboxes get their IPs from a network, in place of
// 10.0.0.0/8. Runtimes of one cluster need networks that do not overlap. It
// must come before all plans and Restore.
func (f *Fake) SetPodNetwork(network string) error {
	free, err := newAddresses(network)
	if err == nil {
		f.addresses = free
	}
	return err
}

// Begin starts a plan; see [Runtime].
func (f *Fake) Begin(now time.Time, plan Plan) {
	now = f.advance(now)
	p := f.pods[plan.Pod.UID]
	if p == nil {
		p = &podRecord{uid: plan.Pod.UID, name: nameOf(plan.Pod), node: plan.Node}
		f.pods[plan.Pod.UID] = p
		f.machine(p.node).pods[plan.Pod.UID] = p
	}
	if p.plan != nil {
		panic(fmt.Sprintf("cri: pod %s has a plan under way", plan.Pod.UID))
	}
	p.plan = &execution{plan: plan}
	f.proceed(now, p)
}

// Cancel ends a plan; see [Runtime].
func (f *Fake) Cancel(now time.Time, pod types.UID) {
	f.advance(now)
	p := f.pods[pod]
	if p == nil || p.plan == nil {
		return
	}
	p.plan.canceled = true
	if step := p.plan.step(); step.Kind != StepStop {
		p.plan.results = append(p.plan.results, *failed(step, p.plan.stage.failure(), "context canceled"))
	}
	f.end(p)
}

// Crash makes the running container of a name exit, and reports whether there
// is one.
func (f *Fake) Crash(now time.Time, pod types.UID, container string, code int32) bool {
	now = f.advance(now)
	p := f.pods[pod]
	if p == nil {
		return false
	}
	for _, c := range p.containers {
		if c.Name == container && c.State == StateRunning {
			f.exit(now, p, c, code)
			f.stopped(now, p)
			return true
		}
	}
	return false
}

// Probe answers a probe by the container's script; see [Runtime].
func (f *Fake) Probe(now time.Time, pod types.UID, containerID string, kind ProbeKind) bool {
	now = f.advance(now)
	p := f.pods[pod]
	if p == nil {
		return false
	}
	c := p.container(containerID)
	if c == nil || c.State != StateRunning {
		return false
	}
	age := now.Sub(c.StartedAt)
	switch kind {
	case ProbeStartup:
		return age >= c.script.StartupTime
	case ProbeReadiness:
		return age >= c.script.ReadyTime
	case ProbeLiveness:
		return age < c.script.LiveTime
	default:
		return false
	}
}

// Poll returns the next event; see [Runtime].
func (f *Fake) Poll(now time.Time) (Event, bool) {
	f.advance(now)
	if len(f.events) == 0 {
		return Event{}, false
	}
	event := f.events[0]
	f.events = f.events[1:]
	if p := f.pods[event.Pod]; p != nil && event.Ended == nil && event.Notice == nil {
		p.announced = false
	}
	return event, true
}

// Next returns when Poll next has an event, or may have one.
func (f *Fake) Next(now time.Time) (time.Time, bool) {
	if len(f.events) > 0 {
		return now, true
	}
	return f.queue.Next(now)
}

// Pod returns the state of a pod; see [Runtime].
func (f *Fake) Pod(now time.Time, pod types.UID) (Pod, bool) {
	f.advance(now)
	p := f.pods[pod]
	if p == nil {
		return Pod{}, false
	}
	state := Pod{UID: pod, Node: p.node, Busy: p.plan != nil, Sandboxes: append([]Sandbox(nil), p.sandboxes...)}
	for _, c := range p.containers {
		state.Containers = append(state.Containers, c.Container)
	}
	return state, true
}

// Name returns the name of a pod; see [Runtime].
func (f *Fake) Name(now time.Time, pod types.UID) types.NamespacedName {
	f.advance(now)
	if p := f.pods[pod]; p != nil {
		return p.name
	}
	return types.NamespacedName{}
}

// Remove forgets a pod; see [Runtime].
func (f *Fake) Remove(now time.Time, pod types.UID) bool {
	f.advance(now)
	p := f.pods[pod]
	if p == nil {
		return true
	}
	if p.plan != nil {
		return false
	}
	for _, c := range p.containers {
		if c.State == StateRunning {
			return false
		}
	}
	f.forget(p)
	return true
}

// forget drops a pod.
func (f *Fake) forget(p *podRecord) {
	f.stopSandboxes(p)
	delete(f.pods, p.uid)
	delete(f.machine(p.node).pods, p.uid)
}

// advance lets happen what is due, each at its time, and returns now or the
// latest time that any call has passed.
func (f *Fake) advance(now time.Time) time.Time {
	now = f.queue.Advance(now)
	for {
		item, ok := f.queue.Start(now)
		if !ok {
			return now
		}
		f.queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		f.fire(item.Due, item.Key)
	}
}

// fire lets one thing happen.
func (f *Fake) fire(at time.Time, key timer) {
	p := f.pods[key.pod]
	if p == nil {
		return
	}
	if key.container == "" {
		f.proceed(at, p)
		return
	}
	c := p.container(key.container)
	switch {
	case c == nil || c.State != StateRunning:
		return
	case ended(c.exitAt, at):
		f.exit(at, p, c, c.script.exitCode(c.Attempt))
	default:
		f.proceedStop(at, p, c)
	}
	f.stopped(at, p)
}

// stopped goes on with a plan that waits for containers to stop, or for the
// hook of one that has exited.
func (f *Fake) stopped(at time.Time, p *podRecord) {
	switch {
	case p.plan == nil:
	case p.plan.step().Kind == StepStop,
		p.plan.stage == stageHook && p.plan.started.State != StateRunning:
		f.proceed(at, p)
	}
}

// proceed goes on with the plan of a pod as far as it gets now.
func (f *Fake) proceed(at time.Time, p *podRecord) {
	for p.plan != nil {
		e := p.plan
		if e.index == len(e.plan.Steps) {
			f.end(p)
			return
		}
		wait, result := f.perform(at, p)
		if result == nil {
			if wait == 0 {
				continue
			}
			if wait > 0 && wait < Forever {
				f.arm(timer{pod: p.uid}, at.Add(wait))
			}
			return
		}
		e.results = append(e.results, *result)
		f.noticeFailure(p, result)
		step := e.step()
		e.index, e.stage, e.started = e.index+1, stageIdle, nil
		if !result.Done && (step.Required || step.Kind == StepCreateSandbox) {
			f.end(p)
		}
	}
}

// perform goes on with a step. It returns its result, or how long the stage
// takes that it is in now. A stop waits for its containers, without a time.
func (f *Fake) perform(at time.Time, p *podRecord) (time.Duration, *StepResult) {
	step := p.plan.step()
	switch step.Kind {
	case StepCreateSandbox:
		return f.createSandbox(p)
	case StepStart:
		return f.startContainer(at, p)
	case StepStop:
		return f.stopAll(at, p)
	case StepStopSandboxes:
		f.stopSandboxes(p)
		f.changed(p)
		return 0, done(step)
	case StepRemove:
		f.remove(p, step.Remove)
		return 0, done(step)
	default:
		return 0, failed(step, ReasonCreate, fmt.Sprintf("step is of unknown kind %q", step.Kind))
	}
}

// stopAll stops the containers of a step and waits until all have exited.
func (f *Fake) stopAll(at time.Time, p *podRecord) (time.Duration, *StepResult) {
	step := p.plan.step()
	if p.plan.stage == stageIdle {
		p.plan.stage = stageStart
		for _, s := range step.Stops {
			if c := p.container(s.ID); c != nil {
				f.stop(at, p, c, s)
			}
		}
	}
	for _, s := range step.Stops {
		if c := p.container(s.ID); c != nil && c.State == StateRunning {
			return Forever, nil
		}
	}
	return 0, done(step)
}

// remove forgets containers that do not run.
func (f *Fake) remove(p *podRecord, ids []string) {
	kept := p.containers[:0:0]
	for _, c := range p.containers {
		removed := false
		for _, id := range ids {
			removed = removed || c.ID == id && c.State != StateRunning
		}
		if removed {
			p.remember(c)
			continue
		}
		kept = append(kept, c)
	}
	if len(kept) < len(p.containers) {
		p.containers = kept
		f.changed(p)
	}
}

// end reports a plan.
func (f *Fake) end(p *podRecord) {
	f.arm(timer{pod: p.uid}, time.Time{})
	f.events = append(f.events, Event{Node: p.node, Pod: p.uid, Ended: &Report{
		Node: p.node, Pod: p.uid, Results: p.plan.results, Canceled: p.plan.canceled,
	}})
	p.plan = nil
}
