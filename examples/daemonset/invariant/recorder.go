package invariant

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A Recorder writes the history of the controller in a world. The cause of each
// of its calls must be the [Decision] for its job.
type Recorder struct {
	model.Unimpressed

	// History grows with the world. Its budget and its end are the caller's.
	History *History

	world  *model.World
	calls  map[*network.Call]*Call
	events uint64
}

var _ model.Witness = (*Recorder)(nil)

// Record records a world from now on.
func Record(world *model.World) *Recorder {
	r := &Recorder{History: &History{}, world: world, calls: make(map[*network.Call]*Call)}
	world.Watch(r)
	return r
}

// nextEvent numbers the events of the history.
func (r *Recorder) nextEvent() uint64 {
	r.events++
	return r.events
}

// Begin begins a life of the controller. It returns what is called when a job
// begins, with the client of the process, and returns the cause of its calls.
func (r *Recorder) Begin() (decide func(*network.Client) any) {
	life := &Life{}
	r.History.Lives = append(r.History.Lives, life)
	return func(client *network.Client) any {
		d := &Decision{Life: life, Order: r.nextEvent(), At: r.world.Now(), Seen: make(map[network.Kind]uint64)}
		for _, kind := range Kinds {
			d.Seen[kind] = client.Store(kind).Version()
		}
		return d
	}
}

// life is the last one.
func (r *Recorder) life() *Life { return r.History.Lives[len(r.History.Lives)-1] }

// Halt records that the last life was told to delete no pod.
func (r *Recorder) Halt() {
	if life := r.life(); !life.halted() {
		life.Halts = append(life.Halts, Span{From: r.nextEvent()})
	}
}

// Resume records that it was told that it may do so again.
func (r *Recorder) Resume() {
	if life := r.life(); life.halted() {
		life.Halts[len(life.Halts)-1].To = r.nextEvent()
	}
}

func (l *Life) halted() bool {
	last := len(l.Halts) - 1
	return last >= 0 && l.Halts[last].To == 0
}

// Defer records that something else came before a task of the last life; see
// [Deferral].
func (r *Recorder) Defer(of string) {
	r.History.Deferrals = append(r.History.Deferrals, Deferral{Life: r.life(), At: r.world.Now(), Of: of})
}

// WroteNode implements [model.Witness].
func (r *Recorder) WroteNode(w model.NodeWrite) {
	if w.Before != w.After {
		r.wrote(w.Call, Nodes, orNil(w.Before), orNil(w.After))
	}
}

// WrotePod implements [model.Witness].
func (r *Recorder) WrotePod(w model.PodWrite) {
	if w.Before != w.After {
		r.wrote(w.Call, Pods, orNil(w.Before), orNil(w.After))
	}
}

// Wrote implements [model.Witness].
func (r *Recorder) Wrote(w model.Write) {
	before, _ := w.Before.(metav1.Object)
	after, _ := w.After.(metav1.Object)
	if slices.Contains(Kinds, w.Kind) {
		r.wrote(w.Call, w.Kind, before, after)
	}
}

// orNil returns an object, or nil without a type if there is none.
func orNil[O interface {
	comparable
	metav1.Object
}](object O) metav1.Object {
	if none := *new(O); object == none {
		return nil
	}
	return object
}

func (r *Recorder) wrote(call *network.Call, kind network.Kind, before, after metav1.Object) {
	r.History.Changes = append(r.History.Changes, &Change{
		Kind: kind, Version: r.world.Version(), At: r.world.Now(), Before: before, After: after, By: r.calls[call],
	})
}

// Sent implements [model.Witness].
func (r *Recorder) Sent(call *network.Call) {
	decision, ok := call.Cause.(*Decision)
	if !ok {
		return
	}
	r.calls[call] = &Call{Decision: decision, Request: call.Request(), Kind: call.Kind, Name: call.Name}
	r.History.Calls = append(r.History.Calls, r.calls[call])
}

// Processed implements [model.Witness]. What the API server has then is in the
// answer, if there is one.
func (r *Recorder) Processed(call *network.Call) {
	c := r.calls[call]
	if c == nil {
		return
	}
	key := apiserver.Key{Namespace: model.Namespace, Name: call.Name}
	object, err := r.world.Users().Server.Get(call.Kind.Resource(), key)
	if err != nil {
		c.Missing = r.world.Version()
	} else {
		c.Answer = apiserver.MetaOf(object)
	}
}

// Answered implements [model.Witness].
func (r *Recorder) Answered(call *network.Call) {
	if c := r.calls[call]; c != nil {
		c.Ended = r.nextEvent()
		c.Answered = call.Err == nil || apierrors.IsNotFound(call.Err)
	}
}
