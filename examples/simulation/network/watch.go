package network

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
)

// Change is an event of a watch. It is small: there are millions of them.
type Change struct {
	Object Object
	Name   string
	// Number is that of the object, from 1 on. Zero is none: the object is found by
	// its name.
	Number int
	Kind   Kind
	Gone   bool

	at   time.Duration // when it arrives
	list *Listing      // of all that there is, for which only Kind is set besides
}

// Listing is all that there is of a kind, at a version.
type Listing struct {
	Objects []Change
	Version uint64
}

// Announce sends a change to all watches of its kind.
func (n *Network) Announce(c Change) {
	for _, past := range n.faults.pasts {
		past.since[c.Kind] = append(past.since[c.Kind], dated{n.Elapsed(), c})
	}
	for _, watch := range n.watches[c.Kind] {
		watch.send(c)
	}
}

// watch is an informer: a watch of one kind for one client, the cache that it
// fills, and the handler that it tells.
type watch struct {
	client  *Client
	kind    Kind
	handler cache.ResourceEventHandler
	random  *rand.Rand

	cached cached
	lens   Lens // nil shows objects as they are
	// transform is that of the informer, nil if it keeps objects as they are.
	transform func(Object) Object
	synced    bool
	// lost says that events are dropped until everything has been listed again.
	// Broken counts the faults by which they are.
	lost   bool
	broken int
	// lag is how old what a watch shows is that began in the past.
	lag time.Duration
	// lists counts the times that it has listed.
	lists int
	// version is how far the cache is: that of the last list, or of the last event,
	// whose object is then newest.
	version uint64
	newest  Object

	// onTheWay are events and lists that have not arrived yet. As in a stream, none
	// overtakes another.
	onTheWay virtualtime.FIFO[Change]
	last     time.Duration // when the last of them arrives
	next     func()        // lets the next ones arrive

	// held is what has arrived while the client stood still or was cut off.
	held []Change
}

// OfKind matches the watches of a kind, of all clients.
func OfKind(kind Kind) func(*Client, Kind) bool {
	return func(_ *Client, watched Kind) bool { return watched == kind }
}

// Inform lists and watches the objects of a kind. The handler is told of them
// like by an informer of client-go. To be called once a kind.
func (c *Client) Inform(kind Kind, handler cache.ResourceEventHandler) {
	c.InformTransformed(kind, handler, nil)
}

// InformTransformed is Inform with what an informer's transform makes of each
// object before it is cached. It must not change what it is given.
func (c *Client) InformTransformed(kind Kind, handler cache.ResourceEventHandler, transform func(Object) Object) {
	w := &watch{
		client:  c,
		kind:    kind,
		handler: handler,
		random:  c.network.Random(c.Identity() + "/" + kind.String()),
		cached:  cached{byName: make(map[string]Object)},

		transform: transform,
	}
	w.next = w.arriveNext
	w.lens = c.network.server.Lens(kind)
	c.watches[kind] = w
	w.list()
}

// list reads all objects and watches from there on. It is tried until it
// succeeds.
func (w *watch) list() {
	w.lost = true
	network := w.client.network
	w.client.Call(&Call{Verb: List, Kind: w.kind, processed: func() {
		if w.client.stopped {
			return
		}
		if network.watched(w) < 0 {
			network.watches[w.kind] = append(network.watches[w.kind], w)
		}
		w.lost = false
		w.lists++
		w.onTheWay = virtualtime.FIFO[Change]{} // the stream has ended
		if shown := network.faults.pastFor(w); shown != nil {
			w.begin(shown)
			return
		}
		all := network.server.All(w.kind)
		w.deliverAt(Change{Kind: w.kind, list: &all}, network.Elapsed())
	}}, func(call *Call) {
		if call.Err != nil {
			network.After(listRetry, w.client.whileRunning(w.list))
		}
	})
}

// listRetry is how long a client waits after a list that failed.
const listRetry = time.Second

// watched returns the place of a watch among those that are told of changes, or
// -1.
func (n *Network) watched(watch *watch) int {
	for i, other := range n.watches[watch.kind] {
		if other == watch {
			return i
		}
	}
	return -1
}

func (w *watch) stop() {
	all := w.client.network.watches[w.kind]
	if i := w.client.network.watched(w); i >= 0 {
		w.client.network.watches[w.kind] = append(all[:i:i], all[i+1:]...)
	}
	w.held, w.cached = nil, cached{}
}

// send puts a change on its way.
func (w *watch) send(c Change) {
	if w.lost || w.broken > 0 {
		return
	}
	network := w.client.network
	later := network.fate(Message{Kind: MessageEvent, Client: w.client, Of: c.Kind, Name: c.Name}).Later
	delay := network.config.WatchDelay
	if stale := network.faults.stale(w); stale != nil {
		delay = *stale
	}
	w.deliverAt(c, network.Elapsed()+delay.Pick(w.random)+later)
}

// deliverAt has a change arrive at a time, or with the last one before it. Of a
// large cluster's heartbeats, most wait for one before them.
func (w *watch) deliverAt(c Change, at time.Duration) {
	c.at = at
	if w.onTheWay.Len() > 0 && w.last >= at {
		c.at = w.last
	} else {
		w.client.network.At(at, w.next)
	}
	w.last = c.at
	w.onTheWay.Push(c)
}

// arriveNext is the moment in which changes arrive, unless those have been
// dropped since.
func (w *watch) arriveNext() {
	for w.onTheWay.Len() > 0 && w.onTheWay.Peek().at <= w.client.network.Elapsed() {
		w.arrive(w.onTheWay.Pop())
	}
}

// arrive is the moment in which a change reaches the client.
func (w *watch) arrive(c Change) {
	switch {
	case w.client.stopped:
	case w.client.paused > 0 || w.client.network.faults.cutOff() || len(w.held) > 0:
		w.held = append(w.held, c)
	default:
		w.deliver(c)
	}
}

// release delivers what was held.
func (w *watch) release() {
	held := w.held
	w.held = nil
	for i := range held {
		w.deliver(held[i])
	}
}

// deliver tells the handler. Of a single event the handler knows whether its
// process has to do anything, and nearly none asks for it.
func (w *watch) deliver(c Change) {
	if c.list == nil {
		w.newest = c.Object
		w.apply(w.transformed(c))
		return
	}
	w.version, w.newest = c.list.Version, nil
	list := c.list.Objects
	if w.transform != nil {
		list = make([]Change, len(list))
		for i, c := range c.list.Objects {
			list[i] = w.transformed(c)
		}
	}
	w.replace(list)
	w.client.wake()
}

func (w *watch) transformed(c Change) Change {
	if w.transform != nil {
		c.Object = w.transform(c.Object)
	}
	return c
}

// current is how far the cache is.
func (w *watch) current() uint64 {
	if w.newest == nil {
		return w.version
	}
	return versionOf(w.newest)
}

// versionOf is the version of an object, by which those of a server are in order.
func versionOf(object Object) uint64 {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("network: the version of %q: %v", object.GetName(), err))
	}
	return version
}

func (w *watch) apply(c Change) {
	if !c.Gone {
		w.show(w.cached.put(&c), c.Object, false)
		return
	}
	if old := w.cached.remove(&c); old != nil {
		before, last := w.through(old, c.Object)
		w.saw(before, nil)
		w.handler.OnDelete(last)
		w.clear()
	}
}

// show tells of a version. Before is nil if the object is new.
func (w *watch) show(before, after Object, initially bool) {
	before, after = w.through(before, after)
	w.saw(before, after)
	if before == nil {
		w.handler.OnAdd(after, initially)
	} else {
		w.handler.OnUpdate(before, after)
	}
	w.clear()
}

// through returns two versions as they are shown, until clear.
func (w *watch) through(before, after Object) (shownBefore, shownAfter Object) {
	if w.lens == nil {
		return before, after
	}
	return w.lens.Show(before, after)
}

func (w *watch) clear() {
	if w.lens != nil {
		w.lens.Clear()
	}
}

// replace makes the cache what a list says.
func (w *watch) replace(list []Change) {
	w.cached.reserve(list)
	for i := range list {
		c := &list[i]
		old := w.cached.put(c)
		if old == nil || old.GetResourceVersion() != c.Object.GetResourceVersion() {
			w.show(old, c.Object, !w.synced)
		}
	}
	gone := w.cached.missing(list)
	for i := range gone {
		last, _ := w.through(w.cached.remove(&gone[i]), nil)
		w.saw(last, nil)
		w.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: gone[i].Name, Obj: last})
		w.clear()
	}
	w.synced = true
}

// saw tells the witnesses. An object that is not there is nil.
func (w *watch) saw(before, after Object) {
	for _, witness := range w.client.network.witnesses {
		witness.Saw(w.client, w.kind, before, after)
	}
}
