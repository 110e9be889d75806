package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

func TestARelistComparesContainers(t *testing.T) {
	list := func(containers ...cri.Container) *cri.Pod { return &cri.Pod{Containers: containers} }
	created := running("c")
	created.State = cri.StateCreated
	unknown := running("c")
	unknown.State = cri.StateUnknown
	for _, test := range []struct {
		old, observed *cri.Pod
		want          []lifecycleEvent
	}{
		{list(), list(), nil},
		{list(), list(running("c")), []lifecycleEvent{eventStarted}},
		{list(running("c")), list(running("c")), nil},
		{list(running("c")), list(exited("c", 0)), []lifecycleEvent{eventDied}},
		{list(), list(exited("c", 0)), []lifecycleEvent{eventDied}},
		{list(running("c")), list(unknown), []lifecycleEvent{eventChanged}},
		{list(created), list(unknown), nil},
		{list(exited("c", 0)), list(), []lifecycleEvent{eventRemoved}},
		{list(running("c")), list(), []lifecycleEvent{eventDied, eventRemoved}},
		{list(unknown), list(), []lifecycleEvent{eventDied, eventRemoved}},
	} {
		assert.Equal(t, test.want, compare(test.old, test.observed), "%+v %+v", test.old, test.observed)
	}
	assert.False(t, eventRemoved.syncs())
	assert.False(t, eventChanged.syncs(), "the kubelet does not send it")
	assert.True(t, eventDied.syncs())
}

// longestRelist is the longest time between two full relists.
const longestRelist = fullRelistPeriod * 3 / 2

// A runtime that loses the event of an exit loses nothing for good. Nothing
// else asks for the pod, because its sync takes an hour.
func TestAFullRelistFindsAnExitThatNothingTold(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, container("d", func(c *corev1.Container) { c.Image = "other" }))
	}, "d:pull-time", "1h")
	w.run(time.Second)
	w.runtime.mute = true
	require.True(t, w.runtime.Crash(w.now, "a", "c", 3))
	w.run(0)
	w.runtime.mute = false
	written := len(w.log)
	w.run(longestRelist)
	assert.Len(t, w.log, written, "a sync that is under way is not disturbed")
	state := w.fleet.pods["a"].observed
	c, _ := state.Latest("c")
	require.NotNil(t, c)
	assert.Equal(t, cri.StateExited, c.State)
}

// The end of a plan that nothing told would be the last sync of its pod.
func TestAFullRelistFindsThePlanThatHasEnded(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "pull-time", "10s")
	w.run(time.Second)
	w.runtime.mute = true
	w.run(20 * time.Second)
	w.runtime.mute = false
	w.run(longestRelist)
	assert.Contains(t, w.statuses("a"), "PatchStatus Running ready c:running")
	w.delete("a", 30)
	w.run(time.Minute)
	assert.Empty(t, w.pods)
}

func TestAFullRelistFindsPodsThatNothingTold(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Minute)
	other := &corev1.Pod{}
	other.UID, other.Name, other.Spec.Containers = "unknown", "unknown", w.pods["a"].Spec.Containers
	w.runtime.Begin(w.now, cri.Plan{Node: "node", Pod: other, Steps: []cri.Step{
		{Kind: cri.StepCreateSandbox}, {Kind: cri.StepStart, Container: "c", MayPull: true},
	}})
	w.run(time.Second)
	require.Len(t, w.runtime.Pods(w.now, "node"), 2)
	w.run(longestRelist + time.Minute)
	assert.Len(t, w.runtime.Pods(w.now, "node"), 1)
	assert.EqualValues(t, 0, w.status("a").ContainerStatuses[0].RestartCount)
}

// It is a check of the runtime, and costs the API server nothing.
func TestAFullRelistWritesNothingAndIsRare(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Minute)
	written, relists := len(w.log), w.runtime.lists
	w.run(10 * time.Hour)
	assert.Len(t, w.log, written)
	assert.InDelta(t, 10*time.Hour/(fullRelistPeriod*5/4), w.runtime.lists-relists, 15)
}
