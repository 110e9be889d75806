package network

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Client is one life of a controller's process, as the API server and the
// network know it. After a crash comes another client of the same name.
type Client struct {
	// Name is the process's, Life counts its starts from 1.
	Name string
	Life int

	network *Network
	random  *rand.Rand
	watches [kinds]*watch
	paused  int
	pauses  []stretch
	// suspensions are the parts of pauses in which its machine stood still.
	suspensions []stretch
	asleep      int // suspensions that go on
	stopped     bool
	// held is what has to be done as soon as the process goes on.
	held []func()
	// woken is called when the process may have something to do.
	woken func()
}

// NewClient returns the client of a process that has just started. Woken is
// called after a list, after an answer, and when the process goes on. It is not
// called after a single event of a watch, which only a handler can judge.
func (n *Network) NewClient(name string, life int, woken func()) *Client {
	c := &Client{Name: name, Life: life, network: n, woken: woken}
	c.random = n.Random(c.Identity())
	n.faults.clients = append(n.faults.clients, c)
	return c
}

// Identity names the process and its life.
func (c *Client) Identity() string { return fmt.Sprintf("%s/%d", c.Name, c.Life) }

func (c *Client) wake() { c.woken() }

// Synced reports whether the first lists of all kinds that it watches are in.
func (c *Client) Synced() bool {
	for _, watch := range c.watches {
		if watch != nil && !watch.synced {
			return false
		}
	}
	return true
}

// Cached returns an object as the client has seen it last, or nil. That is of
// the form in which the server keeps it.
func (c *Client) Cached(kind Kind, name string) Object {
	watch := c.watches[kind]
	if watch == nil {
		return nil
	}
	return watch.cached.get(c.network.server.Number(kind, name), name)
}

// CachedObjects returns all objects of a kind as the client has seen them last,
// by name.
func (c *Client) CachedObjects(kind Kind) []Object {
	return c.watches[kind].cached.all()
}

// Watches reports whether the client watches a kind.
func (c *Client) Watches(kind Kind) bool { return c.watches[kind] != nil }

// CachedCount returns how many objects of a kind the client sees.
func (c *Client) CachedCount(kind Kind) int { return c.watches[kind].cached.count }

// Die makes the process do nothing more outside, in the midst of what it does.
// What it has sent is its last message. Stop has to follow when that step is
// over.
func (c *Client) Die() { c.stopped = true }

// Stop ends the process. Calls that are under way take effect or not, and their
// answers are lost.
func (c *Client) Stop() {
	c.stopped = true
	c.held = nil
	for _, watch := range c.watches {
		if watch != nil {
			watch.stop()
		}
	}
	c.network.faults.clients = slices.DeleteFunc(c.network.faults.clients, func(other *Client) bool { return other == c })
}

// Stopped reports whether the process has ended.
func (c *Client) Stopped() bool { return c.stopped }

// Paused reports whether the process stands still.
func (c *Client) Paused() bool { return c.paused > 0 }

// Pause makes the process stand still. What reaches it waits.
func (c *Client) Pause() {
	c.paused++
	c.pauses = begin(c.pauses, c.network.Elapsed())
	c.network.Note(Note{Paused, c, ""})
}

// Resume makes it go on. First comes what its timers and calls wait for, then
// what its watches have received. That is the worst order for a controller that
// counts on its cache.
func (c *Client) Resume() {
	if c.paused == 0 || c.stopped {
		return
	}
	if c.paused--; c.paused > 0 {
		return // another step has paused it too
	}
	c.network.Note(Note{Resumed, c, ""})
	end(c.pauses, c.network.Elapsed())
	held := c.held
	c.held = nil
	for _, do := range held {
		if !c.stopped {
			do()
		}
	}
	c.network.After(0, c.whileRunning(c.release))
}

// release hands out what the watches have received meanwhile.
func (c *Client) release() {
	if c.network.faults.cutOff() {
		return
	}
	for _, watch := range c.watches {
		if watch != nil {
			watch.release()
		}
	}
	c.wake()
}

// Do does something in the process: now, or when it goes on, or never if it
// ends before.
func (c *Client) Do(do func()) {
	switch {
	case c.stopped:
	case c.paused > 0:
		c.held = append(c.held, do)
	default:
		do()
	}
}

func (c *Client) whileRunning(do func()) func() { return func() { c.Do(do) } }

// Soon returns a function that plans something for the process for now, each
// time that it is called. It allocates once.
func (c *Client) Soon(do func()) (plan func()) {
	planned := c.whileRunning(do)
	return func() { c.network.After(0, planned) }
}

// At plans something for the process.
func (c *Client) At(at time.Duration, do func()) { c.network.At(at, c.whileRunning(do)) }
