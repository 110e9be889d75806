package simulation

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
)

// mostRuntimes is above how many there are in a world.
const mostRuntimes = 1000

// recorder is the fake runtime, and writes down what its containers do.
type recorder struct {
	*cri.Fake

	history *invariant.History
	number  int
	// restores tells that it is a new runtime, which begins with what the API
	// server shows. One that has outlived its kubelet has its own containers.
	restores bool
	runs     map[string]*invariant.Run
	// planned is when the last plan of a pod was begun.
	planned map[types.UID]time.Time
	// losses count the machines that a pod has lost. A static pod begins again
	// after its manifest was away, too.
	losses map[types.UID]int
	// static is each static pod that was ever here.
	static map[types.UID]staticID
	// mute counts the faults by which it loses events.
	mute int
	// of are the runs of a pod that have not ended.
	of map[types.UID]map[string]*invariant.Run
}

func newRecorder(now time.Time, history *invariant.History, number int) (*recorder, error) {
	fake, err := cri.NewFake(now)
	if err != nil {
		return nil, err
	}
	return &recorder{
		Fake: fake, history: history, number: number, restores: true,
		runs: map[string]*invariant.Run{}, planned: map[types.UID]time.Time{},
		losses: map[types.UID]int{}, static: map[types.UID]staticID{}, of: map[types.UID]map[string]*invariant.Run{},
	}, nil
}

// Begin implements [cri.Runtime]. A plan that overlaps another is dropped.
func (r *recorder) Begin(now time.Time, plan cri.Plan) {
	uid := plan.Pod.UID
	if state, _ := r.Pod(now, uid); state.Busy {
		r.history.Overlaps = append(r.history.Overlaps, invariant.Overlap{Pod: uid, At: now})
		return
	}
	r.record(now, uid, false)
	for i := range plan.Steps {
		for _, stop := range plan.Steps[i].Stops {
			if run := r.runs[stop.ID]; run != nil && run.Stopped.IsZero() {
				run.Stopped = now
			}
		}
	}
	r.planned[uid] = now
	r.identify(now, plan.Pod)
	r.Fake.Begin(now, plan)
	r.record(now, uid, false)
}

// Cancel implements [cri.Runtime].
func (r *recorder) Cancel(now time.Time, pod types.UID) {
	r.Fake.Cancel(now, pod)
	r.record(now, pod, false)
}

// Poll implements [cri.Runtime].
func (r *recorder) Poll(now time.Time) (cri.Event, bool) {
	for {
		event, ok := r.Fake.Poll(now)
		if ok {
			r.record(now, event.Pod, false)
		}
		if !ok || r.mute == 0 {
			return event, ok
		}
	}
}

// Remove implements [cri.Runtime].
func (r *recorder) Remove(now time.Time, pod types.UID) bool {
	r.record(now, pod, false)
	removed := r.Fake.Remove(now, pod)
	if removed {
		r.forgetStatic(pod)
	}
	return removed
}

// forget lets the IDs of a pod's runs be those of other runs.
func (r *recorder) forget(uid types.UID) {
	for id, run := range r.runs {
		if run.Pod == uid {
			delete(r.runs, id)
		}
	}
}

// Reboot implements [cri.Runtime].
func (r *recorder) Reboot(now time.Time, node string) {
	r.recordNode(now, node)
	r.Fake.Reboot(now, node)
	r.recordNode(now, node)
	r.history.Starts = append(r.history.Starts, invariant.Start{Node: node, At: now, Reboot: true})
}

// RemoveNode implements [cri.Runtime].
func (r *recorder) RemoveNode(now time.Time, node string) {
	r.recordNode(now, node)
	uids := r.Pods(now, node)
	r.Fake.RemoveNode(now, node)
	for _, uid := range uids {
		r.record(now, uid, false)
		r.losses[uid]++
		r.forget(uid)
	}
	r.history.Starts = append(r.history.Starts, invariant.Start{Node: node, At: now, Lost: true})
}

// Crash makes a container exit; see [cri.Fake.Crash].
func (r *recorder) Crash(now time.Time, pod types.UID, container string, code int32) bool {
	crashed := r.Fake.Crash(now, pod, container, code)
	r.record(now, pod, false)
	return crashed
}

// Restore makes containers run that a status shows, if the runtime is new. It
// reports whether the runtime has the pod.
func (r *recorder) Restore(now time.Time, node string, pod *corev1.Pod) bool {
	if !r.restores {
		_, found := r.Pod(now, pod.UID)
		return found
	}
	r.identify(now, pod)
	restored := r.Fake.Restore(now, node, pod)
	r.record(now, pod.UID, true)
	return restored
}

func (r *recorder) recordNode(now time.Time, node string) {
	for _, uid := range r.Pods(now, node) {
		r.record(now, uid, false)
	}
}

// record writes down what has changed of a pod's containers.
func (r *recorder) record(now time.Time, uid types.UID, restored bool) {
	state, _ := r.Pod(now, uid)
	seen := map[string]bool{}
	for i := len(state.Containers) - 1; i >= 0; i-- { // the oldest first
		c := &state.Containers[i]
		seen[c.ID] = true
		run := r.runs[c.ID]
		if run == nil {
			run = &invariant.Run{
				Pod: uid, Node: state.Node, Name: c.Name, ID: c.ID, Image: c.Image, Sandbox: c.Sandbox,
				Attempt: c.Attempt, Runtime: r.number + r.losses[uid]*mostRuntimes, Restored: restored, Planned: r.planned[uid],
				Started: c.StartedAt, PodName: r.static[uid].name, Manifest: r.static[uid].manifest,
			}
			r.runs[c.ID] = run
			if r.of[uid] == nil {
				r.of[uid] = map[string]*invariant.Run{}
			}
			r.of[uid][c.ID] = run
			r.history.Runs = append(r.history.Runs, run)
		}
		if c.State == cri.StateExited && run.Ended.IsZero() {
			run.Ended, run.Code = c.FinishedAt, c.ExitCode
			delete(r.of[uid], c.ID)
		}
	}
	for id, run := range r.of[uid] {
		if !seen[id] { // it was removed after its end, which nothing has shown
			run.Ended, run.Lost = now, true
			delete(r.of[uid], id)
		}
	}
}

// end ends the runtime with all its containers.
func (r *recorder) end(now time.Time) {
	for _, uid := range slices.Sorted(maps.Keys(r.of)) {
		r.record(now, uid, false)
	}
	for _, runs := range r.of {
		for _, run := range runs {
			run.Ended, run.Lost = now, true
		}
	}
}
