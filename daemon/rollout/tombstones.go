package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// tombstones are pods that are gone. Observations of them may still arrive,
// from a watch that is behind or as a late answer to a creation. A UID comes
// back only with a backup of the API server's store, and a watch that has shown
// the end of the pod shows that.
type tombstones struct {
	how   map[types.UID]departure
	queue []tombstone // the oldest first
}

// departure is how it is known that a pod is gone.
type departure int8

const (
	// departureForgotten: ForgetPod was called. The pod may be observed again, for
	// example when it was released and is adopted, or is back from a backup.
	departureForgotten departure = 1 + iota
	// departureAnswered: the API server has no pod with the UID, and the watch is
	// behind.
	departureAnswered
)

type tombstone struct {
	uid types.UID
	at  time.Time
}

// longestDelay is how old an observation can be. The API server keeps five
// minutes of changes, and stops a watch that is further behind.
const longestDelay = 5 * time.Minute

func (t *tombstones) add(uid types.UID, how departure, now time.Time) {
	if uid == "" {
		return
	}
	if t.how == nil {
		t.how = make(map[types.UID]departure)
	}
	if known := t.how[uid]; known != 0 {
		t.how[uid] = max(known, how)
		return // it is in the queue
	}
	t.how[uid] = how
	t.queue = append(t.queue, tombstone{uid, now})
}

// shown records that the watch has shown the end of a pod.
func (t *tombstones) shown(uid types.UID) {
	if t.how[uid] == departureAnswered {
		t.how[uid] = departureForgotten
	}
}

// expire drops the pods of which no more observations can arrive.
func (t *tombstones) expire(now time.Time) {
	for len(t.queue) > 0 && now.Sub(t.queue[0].at) > longestDelay {
		delete(t.how, t.queue[0].uid)
		t.queue = t.queue[1:]
	}
}
