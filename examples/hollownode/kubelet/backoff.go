package kubelet

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	// firstBackOff and longestBackOff bound the waits between crashes and between
	// pulls. Source: pkg/kubelet, MaxCrashLoopBackOff and
	// imageBackOffPeriod, v1.37.1.
	firstBackOff   = 10 * time.Second
	longestBackOff = 300 * time.Second
	// backOffReset is how long after a failure the next one counts as the first.
	backOffReset = 2 * longestBackOff
)

// backOffs are the waits of one pod, by what failed. The zero value is empty.
type backOffs map[backOffKey]backOff

// backOffKey identifies what failed: a container with its definition, or an
// image if the container is empty.
type backOffKey struct{ container, image string }

// backOff is a wait that doubles.
type backOff struct {
	before  int // failures before the last
	updated time.Time
}

// wait returns how long after a failure at this time the next attempt waits.
func (b backOffs) wait(key backOffKey, failed time.Time) time.Duration {
	entry, found := b[key]
	if !found || failed.Sub(entry.updated) > backOffReset {
		return 0
	}
	return entry.delay()
}

func (b backOff) delay() time.Duration {
	return timedqueue.Backoff{Initial: firstBackOff, Max: longestBackOff}.Delay(b.before)
}

// count counts a failure. For a container it is counted when the restart is
// allowed, so that the first restart does not wait.
func (b *backOffs) count(now time.Time, key backOffKey, failed time.Time) {
	if *b == nil {
		*b = backOffs{}
	}
	entry, found := (*b)[key]
	if found && failed.Sub(entry.updated) <= backOffReset {
		entry.before++
	} else {
		entry.before = 0
	}
	entry.updated = now
	(*b)[key] = entry
}
