package cri

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// How a container has ended that a reboot has ended. Source: containerd, which
// finds after its start that the task is gone.
const (
	rebootCode   int32 = 255
	rebootReason       = "Unknown"
)

// Pods returns the pods of a node; see [Runtime].
func (f *Fake) Pods(now time.Time, node string) []types.UID {
	f.advance(now)
	if m := f.machines[node]; m != nil {
		return slices.Sorted(maps.Keys(m.pods))
	}
	return nil
}

// Reboot ends all that runs on a node; see [Runtime].
func (f *Fake) Reboot(now time.Time, node string) {
	now = f.advance(now)
	for _, uid := range f.Pods(now, node) {
		p := f.pods[uid]
		f.abandon(p)
		f.stopSandboxes(p)
		for _, c := range p.containers {
			if c.State != StateExited {
				f.exit(now, p, c, rebootCode)
				c.Reason = rebootReason
			}
		}
	}
}

// RemoveNode forgets a node with all that it has; see [Runtime].
func (f *Fake) RemoveNode(now time.Time, node string) {
	now = f.advance(now)
	for _, uid := range f.Pods(now, node) {
		p := f.pods[uid]
		f.abandon(p)
		for _, c := range p.containers {
			f.arm(timer{uid, c.ID}, time.Time{})
		}
		f.forget(p)
	}
	delete(f.machines, node)
}

// abandon drops the plan of a pod without a report.
func (f *Fake) abandon(p *podRecord) {
	if p.plan != nil {
		f.arm(timer{pod: p.uid}, time.Time{})
		p.plan = nil
	}
}
