package cri

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Fake is a [Runtime] that runs nothing. What its containers do follows from
// the annotations of their pods and from the time.
//
// What happens has the time at which it was due, however late Poll is called.
// So two runs with the same calls are the same.
type Fake struct {
	// queue holds what happens later: the next thing of each container and of each
	// plan.
	queue *timedqueue.Queue[timer, struct{}]
	pods  map[types.UID]*podRecord
	// machines are the nodes that have ever run a pod, by name.
	machines map[string]*machine
	// events are those that Poll has not returned yet.
	events []Event
	// plain is the script of pods without annotations.
	plain     *Script
	addresses addresses
}

// timer identifies what is due: something of a container, or of the step of a
// pod's plan if the container is empty.
type timer struct {
	pod       types.UID
	container string
}

// machine is a node with its pods and the images that it has pulled.
type machine struct {
	pods map[types.UID]*podRecord
	// images are when each was used last, by the count of uses.
	images map[string]uint64
	uses   uint64
}

// machine returns the machine of a node, and makes it if there is none.
func (f *Fake) machine(node string) *machine {
	m := f.machines[node]
	if m == nil {
		m = &machine{pods: map[types.UID]*podRecord{}, images: map[string]uint64{}}
		f.machines[node] = m
	}
	return m
}

// podRecord is what the fake runtime has of a pod.
type podRecord struct {
	uid        types.UID
	name       types.NamespacedName
	node       string
	sandboxes  []Sandbox          // the newest first
	containers []*containerRecord // the newest first
	plan       *execution         // nil between plans
	// failures counts what its annotations let fail, by the kind of failure.
	failures map[failure]int
	// removed counts the runs of the containers that were removed, by name. A
	// kubelet whose statuses were not written before its end does not know these.
	// It has them from its log directories (calcRestartCountByLogDir in
	// kuberuntime_container.go, v1.37.1).
	removed map[string]int32
	// announced tells that an event of a change waits to be polled.
	announced bool
}

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// failure is a kind of failure of a container.
type failure struct{ container, annotation string }

// fails reports whether the next of a kind fails, given how many are to fail in
// all, and counts it.
func (p *podRecord) fails(container, annotation string, failures int) bool {
	key := failure{container, annotation}
	if p.failures[key] >= failures {
		return false
	}
	if failures < Always {
		if p.failures == nil {
			p.failures = map[failure]int{}
		}
		p.failures[key]++
	}
	return true
}

// scriptOf returns a script of a pod to keep.
func (f *Fake) scriptOf(pod *corev1.Pod, script Script) *Script {
	if !isScripted(pod) {
		return f.plain
	}
	return &script
}

// container returns the container of an ID, or nil.
func (p *podRecord) container(id string) *containerRecord {
	for _, c := range p.containers {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// remember counts a run that is removed.
func (p *podRecord) remember(c *containerRecord) {
	if p.removed == nil {
		p.removed = map[string]int32{}
	}
	p.removed[c.Name] = max(p.removed[c.Name], c.Attempt+1)
}

// containerRecord is one container and how it is being stopped.
type containerRecord struct {
	Container
	script *Script // only read; one for all pods without annotations
	hooked bool    // has a preStop hook
	// exitAt is when it exits by itself; zero is never.
	exitAt time.Time

	stopping stopStage
	// stageEnds is when its preStop hook ends, or its signal makes it exit.
	stageEnds time.Time
	// killAt is when its grace period ends.
	killAt time.Time
	after  []string
}

// execution is a plan under way.
type execution struct {
	plan     Plan
	index    int // of the step
	stage    startStage
	started  *containerRecord // by the step
	results  []StepResult
	canceled bool
}

// step returns the step under way.
func (e *execution) step() *Step { return &e.plan.Steps[e.index] }

// arm makes something due, and nothing at the zero time.
func (f *Fake) arm(key timer, due time.Time) {
	if due.IsZero() {
		f.queue.Remove(key)
		return
	}
	f.queue.Set(key, struct{}{}, due)
}

// changed announces that a pod's containers or sandboxes have changed.
func (f *Fake) changed(p *podRecord) {
	if !p.announced {
		p.announced = true
		f.events = append(f.events, Event{Node: p.node, Pod: p.uid})
	}
}

// newID returns the ID of a run of a container, or of a sandbox if it has no
// name. It stays unique when the process starts again, because attempts count
// on.
func newID(pod types.UID, container string, attempt uint32) string {
	return fmt.Sprintf("fake://%s/%s/%d", pod, container, attempt)
}

// stopSandboxes ends the sandboxes of a pod, whose IPs are free then.
func (f *Fake) stopSandboxes(p *podRecord) {
	for i := range p.sandboxes {
		f.addresses.release(p.sandboxes[i].IP)
		p.sandboxes[i].Ready, p.sandboxes[i].IP = false, ""
	}
}

// later adds a duration, where Forever leads to the zero time.
func later(at time.Time, d time.Duration) time.Time {
	if d == Forever {
		return time.Time{}
	}
	return at.Add(d)
}
