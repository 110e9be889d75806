package controller

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/seeds"
	"github.com/kubelife/lifecycle/timedqueue"
)

// C6: the diagram of writeState is complete and true.
func TestC6StatesChangeAsDrawn(t *testing.T) {
	drawn := map[[2]writeState]bool{
		{steady, resting}: true, {resting, steady}: true,
		{resting, due}: true, {due, resting}: true, {due, steady}: true,
		{steady, released}: true, {due, released}: true,
		{released, resting}: true, {released, releasing}: true,
		{due, writing}: true, {writing, resting}: true, {releasing, resting}: true,
	}
	seen := map[[2]writeState]bool{}
	for seed := range uint64(seeds.Sized(3, 20)) {
		playAtRandom(t, seed, func(from, to writeState) {
			if from != to {
				seen[[2]writeState{from, to}] = true
			}
		})
	}
	for change := range seen {
		require.Contains(t, drawn, change, "%v to %v is not drawn", change[0], change[1])
	}
	for change := range drawn {
		require.Contains(t, seen, change, "%v to %v never happens", change[0], change[1])
	}
}

// playAtRandom plays what can happen to ten nodes, with several actions under
// way at a time. It checks after each step that states and queues agree.
func playAtRandom(t *testing.T, seed uint64, entered func(from, to writeState)) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	w := active(t, "a")
	w.c.writes.watch.entered = entered
	type begun struct {
		job       timedqueue.Job
		performed bool
	}
	var underWay []begun
	for step := range 2000 {
		name := fmt.Sprintf("a-%03d", random.IntN(10))
		node := w.nodes[name]
		if node == nil {
			node = w.addNode(name, "a")
		}
		changed := node.DeepCopy()
		switch random.IntN(14) {
		case 0, 1:
			w.report(name, corev1.ConditionFalse)
		case 2, 3:
			w.beat(name)
		case 4:
			changed.Spec.Unschedulable = !changed.Spec.Unschedulable
			w.setNode(changed)
		case 5:
			changed.Labels[corev1.LabelOSStable] = fmt.Sprint(random.IntN(3))
			w.setNode(changed)
		case 6:
			changed.Labels[corev1.LabelTopologyZone] = string("ab"[random.IntN(2)])
			w.setNode(changed)
		case 7:
			if random.IntN(3) == 0 {
				w.deleteNode(name)
			}
		case 8:
			if random.IntN(5) == 0 {
				w.deleteNode(name)
				changed.UID = ""
				w.setNode(changed)
			}
		case 9:
			changed.Spec.Taints = nil
			w.setNode(changed)
		default:
			w.now = w.now.Add(time.Duration(random.IntN(5000)) * time.Millisecond)
		}
		agree(t, w.c, seed, step)
		for random.IntN(4) > 0 && len(underWay) < 5 {
			job, ok := w.jobs.Start(w.now)
			agree(t, w.c, seed, step)
			if !ok {
				break
			}
			underWay = append(underWay, begun{job: job})
		}
		if len(underWay) == 0 {
			continue
		}
		i := random.IntN(len(underWay))
		if random.IntN(2) == 0 && !underWay[i].performed {
			if random.IntN(4) > 0 {
				w.perform(underWay[i].job)
			} else {
				w.performFailed(underWay[i].job)
			}
			underWay[i].performed = true
		}
		if underWay[i].performed {
			underWay[i].job.Finish(w.now)
			underWay = slices.Delete(underWay, i, i+1)
		}
		agree(t, w.c, seed, step)
	}
}

// agree checks that the states of all nodes agree with the queues.
func agree(t *testing.T, c *Controller, seed uint64, step int) {
	t.Helper()
	queued, members := map[string]int{}, map[string]int{}
	for name, n := range c.objects.nodes {
		check := func(holds bool, what string) {
			if !holds {
				t.Fatalf("seed %d, step %d: %s is %v, and %s", seed, step, name, n.state, what)
			}
		}
		members[n.zone]++
		write, inWrites := c.writes.queue.Find(name)
		release, inReleases := c.releases.queue.Find(name)
		if inReleases {
			queued[n.zone]++
			check(n == *release.Value(), "releases has another node")
		}
		if inWrites {
			check(n == *write.Value(), "writes has another node")
		}
		check(n.state != released, "no Start is under way")
		hasToken := inReleases && c.releases.queue.Acting(release)
		check((n.state == releasing) == hasToken, "its token says otherwise")
		check(n.state == due || n.state.underWay() || n.wanted == nil, "has taints to write")
		check(n.state != due || inWrites, "is not in writes")
		check(!n.state.underWay() || inWrites && c.writes.queue.Acting(write), "is not being written")
		ready := n.ready == corev1.ConditionTrue
		check(n.state != steady || n.notReady() || c.silences.health.HasHeartbeat(name) && ready, "was not heard")
		check(n.state.underWay() || c.releases.wants(n) == inReleases, "is in releases or is not")
	}
	require.True(t, maps.Equal(queued, c.releases.queued),
		"seed %d, step %d: %v in releases, counted %v", seed, step, queued, c.releases.queued)
	require.True(t, maps.Equal(members, c.releases.members),
		"seed %d, step %d: %v in zones, counted %v", seed, step, members, c.releases.members)
}

// C6: each time that a node is observed its wanted taints are computed once. A
// token of its zone costs one more: the NoExecute taint comes in.
func TestC6WantedTaintsAreComputedOnce(t *testing.T) {
	w := active(t, "a", "b")
	costs := func(times int, what string, do func()) {
		t.Helper()
		w.c.writes.watch.computed = 0
		do()
		require.Equal(t, times, w.c.writes.watch.computed, what)
	}
	start := func() timedqueue.Job {
		task, ok := w.jobs.Start(w.now)
		require.True(t, ok)
		return task
	}
	cordon := func(yes bool) {
		node := w.nodes["a-000"].DeepCopy()
		node.Spec.Unschedulable = yes
		w.setNode(node)
	}
	costs(0, "a heartbeat", func() { w.beat("a-000") })
	costs(0, "a poll with nothing due", func() { w.act() })
	costs(1, "a change", func() { cordon(true) })
	var write timedqueue.Job
	costs(0, "handing out its write", func() { write = start() })
	costs(0, "a change during the write", func() { cordon(true) })
	w.blind = true
	costs(1, "the end of the write", func() { w.finish(write) })
	w.blind = false

	costs(1, "a failure", func() {
		cordon(false)
		write = start()
		w.c.writes.watch.computed = 0
		w.finishFailed(write)
	})
	w.advance(interval)
	costs(1, "a node that falls", func() { w.report("a-001", corev1.ConditionFalse) })
	w.act()
	w.now = w.c.zones.tracker.NotBefore(w.c.objects.nodes["a-001"])
	costs(1, "its token", func() { write = start() })
	require.True(t, write.Task().(NodeChange).Released)
	w.blind = true
	costs(1, "the end of that write", func() { w.finish(write) })
	w.blind = false
	w.report("a-002", corev1.ConditionFalse)
	w.act()
	w.addNode("a-003", "a")
	w.act()
	costs(1, "a sweep over all nodes: one is tainted, one waits for its zone, and one was not heard", func() {
		w.c.Reevaluate()
		w.jobs.Start(w.now)
	})
}

// C6: one function writes each enum.
func TestC6OneFunctionWritesEachState(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, write := range regexp.MustCompile(`\.(state|phase) = `).FindAllString(string(text), -1) {
			found = append(found, file+write)
		}
	}
	require.Equal(t, []string{"silences.go.state = ", "writes.go.state = ", "zones.go.phase = "}, found)
}
