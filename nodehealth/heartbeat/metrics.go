package heartbeat

import "time"

// Metrics counts beats. Several goroutines call its methods at a time, with no
// lock held.
type Metrics interface {
	// LeaseRenewed counts a lease that was written. Late is how long after the
	// beat was due the API server had answered.
	LeaseRenewed(late time.Duration)
	// LeaseFailed counts a renewal that failed and will be retried.
	LeaseFailed()
	// LeaseWithheld counts a renewal that was due while the node was silent, or
	// its Node gone. The next one is due when that has ended.
	LeaseWithheld()
	// StatusReported counts a status that was written. Late is how long after the
	// check was due the API server had answered.
	StatusReported(late time.Duration)
	// StatusFailed counts a status that could not be read or not be written, and
	// will be retried.
	StatusFailed()
	// StatusWithheld counts a check of the status that was due while the node was
	// silent. The next one is due when it returns.
	StatusWithheld()
}

type noMetrics struct{}

func (noMetrics) LeaseRenewed(time.Duration)   {}
func (noMetrics) LeaseFailed()                 {}
func (noMetrics) LeaseWithheld()               {}
func (noMetrics) StatusReported(time.Duration) {}
func (noMetrics) StatusFailed()                {}
func (noMetrics) StatusWithheld()              {}
