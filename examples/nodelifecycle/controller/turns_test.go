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

// C3: pods of ready nodes are not visited when all nodes are planned again.
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
