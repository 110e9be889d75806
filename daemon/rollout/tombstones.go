package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// tombstones are pods that the API server does not have, and whose end the watch
// has not shown. Until it does, it is behind, and what it shows of them does not
// count. A UID comes back only with a backup of the API server's store, after the
// watch has shown the end of the pod.
type tombstones struct {
	pods  map[types.UID]struct{}
	queue []tombstone // the oldest first
}

type tombstone struct {
	uid types.UID
	at  time.Time
}

// longestDelay is how old an observation can be. The API server keeps five
// minutes of changes, and stops a watch that is further behind.
const longestDelay = 5 * time.Minute

func (t *tombstones) has(uid types.UID) bool {
	_, is := t.pods[uid]
	return is
}

func (t *tombstones) add(uid types.UID, now time.Time) {
	if uid == "" {
		return
	}
	if t.pods == nil {
		t.pods = make(map[types.UID]struct{})
	}
	t.pods[uid] = struct{}{}
	t.queue = append(t.queue, tombstone{uid, now})
}

// remove records that the watch has shown the end of a pod.
func (t *tombstones) remove(uid types.UID) { delete(t.pods, uid) }

// expire drops the pods of which no more observations can arrive.
func (t *tombstones) expire(now time.Time) {
	for len(t.queue) > 0 && now.Sub(t.queue[0].at) > longestDelay {
		delete(t.pods, t.queue[0].uid)
		t.queue = t.queue[1:]
	}
}
