package heartbeat

import "time"

// Metrics counts beats. Several goroutines call its methods at a time, with no
// lock held.
type Metrics interface {
	// LeaseRenewed counts a lease that was written. The API server had answered
	// so long after the beat was due.
	LeaseRenewed(late time.Duration)
	// LeaseFailed counts a renewal that failed and will be retried.
	LeaseFailed()
	// LeaseWithheld counts a renewal that was due while the node was not alive,
	// or gone.
	LeaseWithheld()
	// StatusReported counts a status that was written. The API server had
	// answered so long after the look was due.
	StatusReported(late time.Duration)
	// StatusFailed counts a status that could not be read or not be written, and
	// will be retried.
	StatusFailed()
	// StatusWithheld counts a look at the status that was due while the node was
	// not alive.
	StatusWithheld()
}

type noMetrics struct{}

func (noMetrics) LeaseRenewed(time.Duration)   {}
func (noMetrics) LeaseFailed()                 {}
func (noMetrics) LeaseWithheld()               {}
func (noMetrics) StatusReported(time.Duration) {}
func (noMetrics) StatusFailed()                {}
func (noMetrics) StatusWithheld()              {}
