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
	for _, p := range w.c.objects.podsOn["n"] {
		w.c.marks.queue.Add(PodID(p.object), p, w.now)
	}
	_, ok := marker{w.c}.Start(w.now)
	require.False(t, ok)
	require.Equal(t, size-mostVisited, w.c.marks.queue.Len())

	for i := range size {
		w.c.writes.queue.Add(strconv.Itoa(i), w.c.objects.nodes["n"], w.now)
	}
	others := otherWriter{writer{w.c}}
	_, ok = others.Start(w.now)
	require.False(t, ok)
	require.Equal(t, size-mostVisited, w.c.writes.queue.Len())
	next, ok := others.Next(w.now)
	require.True(t, ok)
	require.False(t, next.After(w.now), "there is more to do")
	w.act()
	require.Zero(t, w.c.marks.queue.Len()+w.c.writes.queue.Len())
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
	visits := mostVisited
	w.c.writes.takeRelease(w.now, &visits)
	require.Equal(t, 10, w.c.releases.queue.Len())
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

// C3: when all nodes are planned again, no pods are visited of nodes that are
// ready, wait for their zone, or have all their taints.
func TestC3SweepVisitsNoPodsOfSteadyNodes(t *testing.T) {
	w := newWorld(t, Config{})
	names := w.addNodes(mostVisited/2, "a")
	for _, name := range names {
		for i := range 3 {
			w.addPod(name+strconv.Itoa(i), name)
		}
	}
	last := names[len(names)-1] // a sweep begins there
	for i := range mostVisited {
		w.addPod(strconv.Itoa(i), last)
	}
	w.start()
	w.act()
	sweep := func() int {
		w.c.Reevaluate()
		w.c.sweep(w.now)
		return w.c.unswept
	}
	require.Zero(t, sweep(), "all are ready")
	w.report(last, corev1.ConditionFalse)
	w.silent[last] = true
	w.act()
	require.Zero(t, sweep(), "it waits for its taint")
	w.advance(2 * time.Minute)
	require.True(t, hasNoExecute(w.nodes[last].Spec.Taints))
	require.Zero(t, sweep(), "it has its taints")
}
