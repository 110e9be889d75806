package exhaustive

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Found is a schedule that violates something.
type Found struct {
	Schedule   Schedule
	Violations []string
}

// Total is what an exploration came to.
type Total struct {
	// Runs is how many schedules were run, by how many deviations they have. These
	// are all within the bound, unless some have failed.
	Runs []int
	// Found are the first schedules that violate something, those with the fewest
	// deviations. At most mostFound are kept.
	Found []Found
	// Failing is how many there are.
	Failing int
}

// mostFound is how many failing schedules are kept: one fault fails many.
const mostFound = 20

// Explore runs all schedules within a bound, those with the fewest deviations
// first, on all cores. It stops after the schedules with the fewest deviations
// of which one fails: those with more would mostly find it again.
func (w *World) Explore(bound Bound) (*Total, error) {
	total := &Total{}
	schedules := []Schedule{nil}
	for len(schedules) > 0 && total.Failing == 0 {
		runs, err := w.runAll(schedules)
		if err != nil {
			return nil, err
		}
		total.Runs = append(total.Runs, len(schedules))
		var next []Schedule
		for i, run := range runs {
			if len(run.Violations) > 0 {
				total.add(Found{schedules[i], run.Violations})
			}
			next = append(next, schedules[i].next(run.messages, bound)...)
		}
		schedules = next
	}
	return total, nil
}

func (t *Total) add(found Found) {
	t.Failing++
	if len(t.Found) < mostFound {
		t.Found = append(t.Found, found)
	}
}

// runAll runs schedules on all cores.
func (w *World) runAll(schedules []Schedule) ([]*Run, error) {
	runs, errs := make([]*Run, len(schedules)), make([]error, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var workers sync.WaitGroup
	for worker := range errs {
		workers.Go(func() {
			for errs[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(schedules) {
					return
				}
				runs[i], errs[worker] = w.runOne(schedules[i])
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// runOne runs a schedule whose messages are known to be sent.
func (w *World) runOne(schedule Schedule) (*Run, error) {
	run, err := w.Run(schedule)
	if err == nil && !run.disturbed {
		err = fmt.Errorf("%s: %s is not deterministic: its last message is not sent", w.Name, schedule)
	}
	return run, err
}
