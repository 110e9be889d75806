package model

import (
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// change is an event of a watch, or a list of all that there is. It is small:
// there are millions of them.
type change struct {
	object  object
	name    string
	machine *Machine  // whose node or lease it is; else nil
	list    *[]change // of a list, which has no object
	kind    Kind
	gone    bool
	joins   bool // the one before it in watch.inOrder, and arrives with that
}

// object is a node, a pod, the leader's lease, or a lease. That is a *lease in
// caches and watches, and of the API when it is shown.
type object interface{ GetResourceVersion() string }

// announce sends a change to all watches of its kind.
func (w *World) announce(c change) {
	for _, past := range w.faults.pasts {
		past.since[c.kind] = append(past.since[c.kind], dated{w.now, c})
	}
	for _, watch := range w.server.watches[c.kind] {
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
	leases *leaseShow // nil unless it watches them
	synced bool
	// lost says that events are dropped until everything has been listed again.
	// Broken counts the faults by which they are.
	lost   bool
	broken int
	// lag is how old what a watch shows is that began in the past.
	lag time.Duration
	// lists counts the times that it has listed: what was on its way before then
	// and could arrive after it is void.
	lists int
	// received counts the events and lists that have reached the client.
	received int

	// Events on their way arrive in their order, except those that a stale watch
	// has delayed: of these only those of one object do.
	inOrder fifo[change]
	arrival time.Duration            // of the last one in inOrder
	late    map[string]time.Duration // of the last one of an object
	next    func()                   // lets the next ones in inOrder arrive

	// held is what has arrived while the client stood still or was cut off.
	held []change
}

// Inform lists and watches the objects of a kind. The handler is told of them
// like by an informer of client-go. To be called once a kind.
func (c *Client) Inform(kind Kind, handler cache.ResourceEventHandler) {
	w := &watch{
		client:  c,
		kind:    kind,
		handler: handler,
		random:  c.world.random(c.identity() + "/" + kind.String()),
		cached:  cached{byName: make(map[string]object)},
		late:    make(map[string]time.Duration),
	}
	w.next = w.arriveNext
	if kind == Leases {
		w.leases = new(leaseShow)
	}
	c.watches[kind] = w
	w.list()
}

// list reads all objects and watches from there on. It is tried until it
// succeeds.
func (w *watch) list() {
	w.lost = true
	world := w.client.world
	w.client.Call(&Call{Verb: List, Kind: w.kind, processed: func() {
		if w.client.stopped {
			return
		}
		if world.watched(w) < 0 {
			world.server.watches[w.kind] = append(world.server.watches[w.kind], w)
		}
		w.lost = false
		w.lists++
		clear(w.late)
		if past := world.faults.pastFor(w); past != nil {
			w.begin(past)
			return
		}
		all := world.all(w.kind)
		w.deliverAt(change{kind: w.kind, list: &all}, world.now)
	}}, func(call *Call) {
		if call.Err != nil {
			world.After(listRetry, w.client.whileRunning(w.list))
		}
	})
}

// listRetry is how long a client waits after a list that failed.
const listRetry = time.Second

// all returns what there is of a kind.
func (w *World) all(kind Kind) []change {
	var list []change
	switch kind {
	case Nodes:
		nodes := w.Nodes()
		list = make([]change, 0, len(nodes))
		for _, node := range nodes {
			list = append(list, change{kind: kind, name: node.Name, machine: w.machine[node.Name], object: node})
		}
	case Leases:
		for _, m := range w.machines {
			if m.lease != nil {
				list = append(list, change{kind: kind, name: m.Name, machine: m, object: m.lease})
			}
		}
	case Pods:
		pods := w.Pods()
		list = make([]change, 0, len(pods))
		for _, pod := range pods {
			list = append(list, change{kind: kind, name: pod.Name, object: pod})
		}
	case LeaderLease:
		list = append(list, change{kind: kind, object: w.server.lock})
	}
	return list
}

// watched returns the place of a watch among those that are told of changes, or
// -1.
func (w *World) watched(watch *watch) int {
	for i, other := range w.server.watches[watch.kind] {
		if other == watch {
			return i
		}
	}
	return -1
}

func (w *watch) stop() {
	all := w.client.world.server.watches[w.kind]
	if i := w.client.world.watched(w); i >= 0 {
		w.client.world.server.watches[w.kind] = append(all[:i:i], all[i+1:]...)
	}
	w.held, w.cached = nil, cached{}
}

// send puts a change on its way.
func (w *watch) send(c change) {
	if w.lost || w.broken > 0 {
		return
	}
	world := w.client.world
	later := world.fate(Message{Kind: MessageEvent, Client: w.client, Of: c.kind, Name: c.name}).Later
	stale := world.faults.stale(w)
	if stale == nil {
		w.deliverAt(c, world.now+world.config.WatchDelay.pick(w.random)+later)
		return
	}
	w.deliverLate(c, max(world.now+stale.pick(w.random), w.arrival, w.late[c.name]))
}

// deliverLate delivers a change on its own.
func (w *watch) deliverLate(c change, at time.Duration) {
	w.late[c.name] = at
	lists := w.lists
	w.client.world.At(at, func() {
		if lists == w.lists {
			w.arrive(c)
		}
	})
}

func (w *watch) deliverAt(c change, at time.Duration) {
	at = max(at, w.arrival)
	if late, ok := w.late[c.name]; ok {
		if at <= late { // it must not overtake an older one of its object
			w.deliverLate(c, late)
			return
		}
		delete(w.late, c.name)
	}
	// Of a large cluster's heartbeats, most wait for one before them.
	c.joins = at == w.arrival && at > w.client.world.now && w.inOrder.len() > 0
	w.arrival = at
	w.inOrder.push(c)
	if !c.joins {
		w.client.world.At(at, w.next)
	}
}

// arriveNext is the moment in which the next changes in inOrder arrive.
func (w *watch) arriveNext() {
	w.arrive(w.inOrder.pop())
	for w.inOrder.len() > 0 && w.inOrder.peek().joins {
		w.arrive(w.inOrder.pop())
	}
}

// arrive is the moment in which a change reaches the client.
func (w *watch) arrive(c change) {
	switch {
	case w.client.stopped:
	case w.client.paused > 0 || w.client.world.faults.cutOff() || len(w.held) > 0:
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
func (w *watch) deliver(c change) {
	w.received++
	if c.list == nil {
		w.apply(c)
		return
	}
	w.replace(*c.list)
	w.client.wake()
}

func (w *watch) apply(c change) {
	if !c.gone {
		w.show(w.cached.put(&c), c.object, false)
		return
	}
	if old := w.cached.remove(&c); old != nil {
		before, last := w.leases.shown(old, c.object)
		w.saw(before, nil)
		w.handler.OnDelete(last)
		w.leases.clear()
	}
}

// show tells of a version. Before is nil if the object is new.
func (w *watch) show(before, after object, initially bool) {
	before, after = w.leases.shown(before, after)
	w.saw(before, after)
	if before == nil {
		w.handler.OnAdd(after, initially)
	} else {
		w.handler.OnUpdate(before, after)
	}
	w.leases.clear()
}

// replace makes the cache what a list says.
func (w *watch) replace(list []change) {
	w.cached.reserve(list)
	for i := range list {
		c := &list[i]
		old := w.cached.put(c)
		if old == nil || old.GetResourceVersion() != c.object.GetResourceVersion() {
			w.show(old, c.object, !w.synced)
		}
	}
	gone := w.cached.missing(list, w.client.world.machines)
	for i := range gone {
		last, _ := w.leases.shown(w.cached.remove(&gone[i]), nil)
		w.saw(last, nil)
		w.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: gone[i].name, Obj: last})
		w.leases.clear()
	}
	w.synced = true
}

// saw tells the witnesses. An object that is not there is nil.
func (w *watch) saw(before, after object) {
	switch w.kind {
	case Nodes:
		for _, witness := range w.client.world.witnesses {
			witness.SawNode(w.client, asNode(before), asNode(after))
		}
	case Pods:
		for _, witness := range w.client.world.witnesses {
			witness.SawPod(w.client, asPod(before), asPod(after))
		}
	case Leases:
		for _, witness := range w.client.world.witnesses {
			witness.SawLease(w.client, asLease(before), asLease(after))
		}
	case LeaderLease:
		before, after := asLock(before), asLock(after)
		if before.Halted == after.Halted {
			return
		}
		for _, witness := range w.client.world.witnesses {
			witness.SawHalt(w.client, after.Halted)
		}
	}
}

func asLock(o object) Lock {
	lock, _ := o.(Lock)
	return lock
}

func asLease(o object) *coordinationv1.Lease {
	lease, _ := o.(*coordinationv1.Lease)
	return lease
}

func asNode(o object) *corev1.Node {
	node, _ := o.(*corev1.Node)
	return node
}

func asPod(o object) *corev1.Pod {
	pod, _ := o.(*corev1.Pod)
	return pod
}
