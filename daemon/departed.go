package daemon

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// departed are pods of which it is known that they are gone although news of them may
// still come: from a watch that is behind, or as the answer to a creation that took its
// time. An identity does not come back, so what comes of it then is old.
type departed struct {
	how   map[types.UID]departure
	queue []departedPod // in the order in which they went
}

// departure is how it is known that a pod is gone.
type departure int8

const (
	// forgotten: we were told to forget it. It may be told of again: one that was
	// released can be adopted.
	forgotten departure = 1 + iota
	// answered: the API server says that there is none with its UID.
	answered
)

type departedPod struct {
	uid types.UID
	at  time.Time
}

// longestDelay is how old news may be. A watch that is further behind is stopped by the
// API server, whose history of changes goes back five minutes.
const longestDelay = 5 * time.Minute

func (d *departed) add(uid types.UID, how departure, now time.Time) {
	if uid == "" {
		return
	}
	if d.how == nil {
		d.how = make(map[types.UID]departure)
	}
	if known := d.how[uid]; known != 0 {
		d.how[uid] = max(known, how)
		return // it is in the queue
	}
	d.how[uid] = how
	d.queue = append(d.queue, departedPod{uid, now})
}

// expire drops those of which nothing can come any more.
func (d *departed) expire(now time.Time) {
	for len(d.queue) > 0 && now.Sub(d.queue[0].at) > longestDelay {
		delete(d.how, d.queue[0].uid)
		d.queue = d.queue[1:]
	}
}
