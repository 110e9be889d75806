package detection

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// parts is how many parts of the time at rest have figures of their own. They
// show how even the figures are.
const parts = 5

// A rest is what was measured while nothing happened but heartbeats.
type rest struct {
	// readings are the CPU times at the beginning and after each part, as far as
	// it got, and took the time until the last.
	readings []reading
	took     time.Duration
	beats    int   // that were stored until the last
	memory   int64 // resident at the end, in bytes; zero: not known
}

// A reading is the CPU time that the subject has used, and the informers alone
// if they run beside it.
type reading struct{ subject, informers time.Duration }

// known returns the last part up to which there are readings.
func (r *rest) known(part int) int { return min(part, len(r.readings)-1) }

// ratio returns the CPU time of the subject to that of the informers alone from
// one part to another, as far as it is known, and false if it is not.
func (r *rest) ratio(from, to int) (float64, bool) {
	if to = r.known(to); to <= from {
		return 0, false
	}
	mine := r.readings[to].subject - r.readings[from].subject
	theirs := r.readings[to].informers - r.readings[from].informers
	return float64(mine) / float64(theirs), theirs > 0
}

// share returns how much of a core one side has used, in percent, and false if
// that is not known.
func (r *rest) share(of func(reading) time.Duration) (float64, bool) {
	last := r.known(parts)
	if last < 1 {
		return 0, false
	}
	used := of(r.readings[last]) - of(r.readings[0])
	return 100 * used.Seconds() / r.took.Seconds(), used > 0
}

// baselineArguments are those of the informers alone.
func baselineArguments() []string {
	return []string{"--secure-port=0", "--leader-elect-resource-name=baseline"}
}

// launchBaseline starts the informers alone, and waits until they have filled
// their caches and lead.
func (w *world) launchBaseline(ctx context.Context) (*sidebyside.Processes, error) {
	informers, err := w.LaunchProgram("baseline", w.baseline, baselineArguments()...)
	if err != nil {
		return nil, err
	}
	leases := w.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
	return informers, informers.Until(ctx, "the informers alone to lead", func(ctx context.Context) (bool, error) {
		lease, err := leases.Get(ctx, "baseline", metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", err
	})
}

// atRest measures while nothing happens but heartbeats. It takes more than a
// grace period: after that a subject may act on all that it must.
func (w *world) atRest(ctx context.Context, r *rest, informers *sidebyside.Processes) error {
	if err := wait.Pause(ctx, w.times.settle); err != nil {
		return err
	}
	before, begun := w.BeatsStored(), time.Now()
	for i := range parts + 1 {
		if err := wait.PauseUntil(ctx, begun.Add(w.times.rest*time.Duration(i)/parts)); err != nil {
			return err
		}
		if err := w.running.Alive(); err != nil {
			return err
		}
		var now reading
		var err error
		if now.subject, err = w.running.CPUTime(); err != nil {
			return err
		}
		if informers != nil {
			if err := informers.Alive(); err != nil {
				return fmt.Errorf("the informers alone: %w", err)
			}
			if now.informers, err = informers.CPUTime(); err != nil {
				return err
			}
		}
		r.readings = append(r.readings, now)
		r.took, r.beats = time.Since(begun), w.BeatsStored()-before
	}
	memory, err := w.running.Last().Memory()
	r.memory = memory.Resident
	used, _ := r.share(func(r reading) time.Duration { return r.subject })
	w.Say("at rest: %.1f %% of a core", used)
	return err
}
