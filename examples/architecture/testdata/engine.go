package zone

import (
	_ "container/heap" // want imports container/heap
	m "math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type record struct {
	due, deadline, wakeAt, seen time.Time
	retryAt, age                time.Duration
	object                      metav1.Time
}

type line []record

func (l line) Len() int           { return 0 }
func (l line) Less(i, j int) bool { return false }
func (l *line) Swap(i, j int)     {} // want line is a heap
func (r *record) less(j int) bool { return false }

type unexported[T any] []T

func (l unexported[T]) less(i, j int) bool { return false }
func (l unexported[T]) swap(i, j int)      {} // want unexported is a heap

func (r record) dueTime() time.Time { return r.seen }

func grows(d time.Duration, n int) time.Duration {
	_ = m.Ldexp(1, n) // want grows a pause
	_ = m.Pow         // want grows a pause
	_ = m.Inf(1)
	d <<= 1 // want grows a pause
	d *= 2  // want grows a pause
	_ = 2 * d
	_ = uint32(1) << n
	return d << n // want grows a pause
}

func (c core) compares(r, other record, now time.Time, at time.Time, w write) {
	_ = r.due.After(now)             // want compares a due time
	_ = !now.Before(r.deadline)      // want compares a due time
	_ = at.Compare(r.wakeAt) > 0     // want compares a due time; compares
	_ = now.Equal(r.due)             // want compares a due time
	_ = clock.now().After(r.due)     // want compares a due time
	_ = c.now.After(r.due)           // want compares a due time
	_ = now.After(r.dueTime())       // want compares a due time
	_ = now.After(r.due.Add(3))      // want compares a due time
	_ = now.After(r.seen.Add(r.age)) // want compares a due time
	_ = r.retryAt <= now.Sub(r.seen) // want compares a due time
	_ = r.due.Sub(now) > 0           // want compares a due time
	_ = func(now time.Time) bool {
		return now.After(r.due) // want compares a due time
	}
	_ = r.due.Before(other.due)
	_ = r.seen.Before(now)
	_ = now.After(c.now)
	_ = r.due.Before(w.at)
	_ = c.overdue.After(now) || c.awakened.After(now) || c.residue.After(now)
}
