package simulation

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// kindOf is how the network calls a kind of the history.
var kindOf = [invariant.Kinds]network.Kind{
	invariant.Sets: network.DaemonSets, invariant.Pods: network.Pods,
	invariant.Nodes: network.Nodes, invariant.Revisions: network.Revisions,
}

// A recorder writes the history of a world. The cause of each call of the
// controller is the decision for its job.
type recorder struct {
	model.Unimpressed

	world   *model.World
	history *invariant.History
	calls   map[*network.Call]*invariant.Call
	// left are the objects that deletions have left.
	left   map[*network.Call]metav1.Object
	events uint64
}

func newRecorder(world *model.World) *recorder {
	return &recorder{
		world: world, history: &invariant.History{},
		calls: make(map[*network.Call]*invariant.Call), left: make(map[*network.Call]metav1.Object),
	}
}

// nextEvent numbers the events of the history.
func (r *recorder) nextEvent() uint64 {
	r.events++
	return r.events
}

// begin adds a life.
func (r *recorder) begin() *invariant.Life {
	life := &invariant.Life{}
	r.history.Lives = append(r.history.Lives, life)
	return life
}

// life is the last one.
func (r *recorder) life() *invariant.Life { return r.history.Lives[len(r.history.Lives)-1] }

// decision is that of a life for a job that begins now.
func (r *recorder) decision(life *invariant.Life, client *network.Client) *invariant.Decision {
	d := &invariant.Decision{Life: life, Order: r.nextEvent(), At: r.world.Now()}
	for kind := range d.Seen {
		d.Seen[kind] = client.Store(kindOf[kind]).Version()
	}
	return d
}

// halted says that the last life was told to delete no pod, or may do so again.
func (r *recorder) halted(halted bool) {
	life, now := r.life(), r.nextEvent()
	last := len(life.Halts) - 1
	switch goesOn := last >= 0 && life.Halts[last].To == 0; {
	case halted && !goesOn:
		life.Halts = append(life.Halts, invariant.Span{From: now})
	case !halted && goesOn:
		life.Halts[last].To = now
	}
}

// deferred says that something else came before a task.
func (r *recorder) deferred(task string) {
	r.history.Deferrals = append(r.history.Deferrals, invariant.Deferral{Life: r.life(), At: r.world.Now(), Of: task})
}

// WroteNode implements [model.Witness].
func (r *recorder) WroteNode(w model.NodeWrite) {
	r.wrote(w.Call, invariant.Nodes, objectOf(w.Before), objectOf(w.After))
}

// WrotePod implements [model.Witness].
func (r *recorder) WrotePod(w model.PodWrite) {
	r.wrote(w.Call, invariant.Pods, objectOf(w.Before), objectOf(w.After))
}

// Wrote implements [model.Witness].
func (r *recorder) Wrote(w model.Write) {
	before, _ := w.Before.(metav1.Object)
	after, _ := w.After.(metav1.Object)
	for kind, watched := range kindOf {
		if watched == w.Kind {
			r.wrote(w.Call, invariant.Kind(kind), before, after)
		}
	}
}

// objectOf returns an object, or nil without a type if there is none.
func objectOf[O interface {
	comparable
	metav1.Object
}](object O) metav1.Object {
	if none := *new(O); object == none {
		return nil
	}
	return object
}

func (r *recorder) wrote(call *network.Call, kind invariant.Kind, before, after metav1.Object) {
	if before == after {
		return // nothing was stored
	}
	r.history.Changes = append(r.history.Changes, &invariant.Change{
		Kind: kind, Version: r.world.Version(), At: r.world.Now(), Before: before, After: after, By: r.calls[call],
	})
}

// Sent implements [model.Witness].
func (r *recorder) Sent(call *network.Call) {
	decision, ok := call.Cause.(*invariant.Decision)
	if !ok {
		return
	}
	request := string(call.Verb) + " " + call.Kind.String()
	if call.Subresource != "" {
		request += "/" + call.Subresource
	}
	c := &invariant.Call{Decision: decision, Request: request, Name: call.Name}
	for kind, watched := range kindOf {
		if watched == call.Kind {
			c.Kind = invariant.Kind(kind)
		}
	}
	r.calls[call] = c
	r.history.Calls = append(r.history.Calls, c)
}

// Processed implements [model.Witness].
func (r *recorder) Processed(call *network.Call) {
	c := r.calls[call]
	if c == nil {
		return
	}
	missing := apierrors.IsNotFound(call.Err)
	if call.Verb == network.Delete && call.Err == nil {
		key := apiserver.Key{Namespace: model.Namespace, Name: call.Name}
		object, err := r.world.Users().Server.Get(call.Kind.Resource(), key)
		if missing = err != nil; !missing {
			r.left[call] = apiserver.MetaOf(object)
		}
	}
	if missing {
		c.Missing = r.world.Version()
	}
}

// Answered implements [model.Witness].
func (r *recorder) Answered(call *network.Call) {
	c := r.calls[call]
	if c == nil {
		return
	}
	c.Ended = r.nextEvent()
	if call.Err != nil && !apierrors.IsNotFound(call.Err) {
		return
	}
	c.Answered = true
	if call.Verb == network.Delete {
		c.Answer = r.left[call]
	} else if object := call.Result(); object != nil {
		c.Answer = apiserver.MetaOf(object)
	}
}
