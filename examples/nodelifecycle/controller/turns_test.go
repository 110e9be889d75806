package controller

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// C3: marks and writes that are not needed any more are dropped some at a time:
// all nodes may have come back at once.
func TestC3WhatIsNotNeededIsDroppedSomeAtATime(t *testing.T) {
	const size = mostVisited + 10
	w := newWorld(t, Config{})
	n := w.addNode("n", "a")
	for i := range size {
		w.addPod(strconv.Itoa(i), n.Name)
	}
	w.start()
	w.act()
	for _, p := range w.c.podsOn["n"] {
		w.c.marks.Add(PodID(p.object), p, w.now)
	}
	_, ok := w.c.markPod(w.now)
	require.False(t, ok)
	require.Equal(t, size-mostVisited, w.c.marks.Len())

	for i := range size {
		w.c.writes.Add(strconv.Itoa(i), w.c.nodes["n"], w.now)
	}
	_, ok = w.c.writeNode(w.now)
	require.False(t, ok)
	require.Equal(t, size-mostVisited, w.c.writes.Len())
	next, ok := w.c.nextWrite(w.now)
	require.True(t, ok)
	require.False(t, next.After(w.now), "there is more to do")
	w.act()
	require.Zero(t, w.c.marks.Len()+w.c.writes.Len())
}

// C3: in node mode nodes without pods cost no token, and are emptied some at a
// time.
func TestC3NodesAreEmptiedSomeAtATime(t *testing.T) {
	w := newWorld(t, Config{EvictionMode: EvictionModeNode})
	for i := range mostVisited + 10 {
		w.addNode("a-"+strconv.Itoa(i), "a")
	}
	w.addNodes(mostVisited, "b")
	w.start()
	w.advance(grace + interval)
	for i := range mostVisited + 10 {
		w.report("a-"+strconv.Itoa(i), corev1.ConditionFalse)
	}
	w.act()
	w.now = w.now.Add(time.Hour)
	w.c.emptyNodes(w.now)
	require.Equal(t, 10, w.c.releases.Len())
}

// C3: the grace periods of all nodes come up together after a start.
func TestC3HeardNodesArePutBackSomeAtATime(t *testing.T) {
	const size = 2*mostVisited + 10
	w := newWorld(t, Config{})
	for i := range size {
		w.addNode("a-"+strconv.Itoa(i), "a")
	}
	w.start()
	w.now = w.now.Add(time.Second)
	for _, name := range w.names() {
		w.beat(name)
	}
	w.now = w.now.Add(time.Minute - time.Second)
	for range 2 {
		require.True(t, w.c.collect(w.now))
	}
	require.False(t, w.c.collect(w.now))
}

// C3: pods of ready nodes are not looked at when all nodes are planned again.
func TestC3SweepVisitsNoPodsOfReadyNodes(t *testing.T) {
	w := newWorld(t, Config{})
	for _, name := range w.addNodes(mostVisited/2, "a") {
		for i := range 3 {
			w.addPod(name+strconv.Itoa(i), name)
		}
	}
	w.start()
	w.act()
	w.c.Reevaluate()
	w.c.sweep(w.now)
	require.Zero(t, w.c.unswept)
}

// C3: heartbeats alone do not make the controller look at what is to be done.
func TestC3HeartbeatsOfHealthyNodesCauseNoLook(t *testing.T) {
	w := atRest(t)
	w.beat("a-000")
	require.Equal(t, idle, w.c.rest.state)
	want, some := w.c.rest.next, w.c.rest.some
	next, ok := w.c.Next(w.now)
	require.Equal(t, some, ok)
	require.Equal(t, want, next)
	_, ok = w.c.Start(w.now)
	require.False(t, ok)
	require.Equal(t, idle, w.c.rest.state)
}

// C3: whatever else happens ends the rest, and so does time.
func TestC3EachChangeEndsTheRest(t *testing.T) {
	for name, change := range map[string]func(*world){
		"node":              func(w *world) { w.report("a-000", corev1.ConditionTrue) },
		"node gone":         func(w *world) { w.c.ForgetNode(w.now, "a-000") },
		"lease gone":        func(w *world) { w.c.ForgetLease(w.now, "a-000") },
		"pod":               func(w *world) { w.addPod("p", "a-000") },
		"pod gone":          func(w *world) { w.c.ForgetPod(w.now, "p") },
		"lease of none":     func(w *world) { w.nodes["x"] = w.nodes["a-000"]; w.beat("x") },
		"synced":            func(w *world) { w.c.MarkSynced(w.now) },
		"lead":              func(w *world) { w.c.Lead(w.now) },
		"sighted":           func(w *world) { w.c.Sighted(w.now) },
		"date":              func(w *world) { w.c.ObserveDate(w.now, w.now, w.now) },
		"reevaluate":        func(w *world) { w.c.Reevaluate() },
		"finish":            func(w *world) { w.c.Finish(w.now, Task{}, Result{}) },
		"idle":              func(w *world) { w.c.Idle(w.now) },
		"time":              func(w *world) { w.now = w.now.Add(longestRest) },
		"time runs back":    func(w *world) { w.now = w.now.Add(-1) },
		"lease that is new": func(w *world) { w.c.nodes["a-000"].state = resting; w.beat("a-000") },
		"lease when behind": func(w *world) { w.c.setBehind(w.now, w.c.nodes["a-000"], true); w.beat("a-000") },
	} {
		t.Run(name, func(t *testing.T) {
			w := atRest(t)
			change(w)
			require.False(t, w.c.rest.lasts(w.now))
		})
	}
}

// H8: a detector may end a grace period earlier after a heartbeat, which has to
// be looked at.
func TestC3AHeartbeatWithADetectorEndsTheRest(t *testing.T) {
	w := atRest(t)
	w.c.fixedGrace = false
	w.beat("a-000")
	require.False(t, w.c.rest.lasts(w.now))
}

// atRest returns a world in which nothing is to be done.
func atRest(t *testing.T) *world {
	w := newWorld(t, Config{})
	w.addNodes(20, "a")
	w.start()
	w.advance(grace + interval)
	w.now = w.now.Add(time.Millisecond)
	_, ok := w.c.Start(w.now)
	require.False(t, ok)
	w.c.Next(w.now)
	require.True(t, w.c.rest.lasts(w.now))
	return w
}
