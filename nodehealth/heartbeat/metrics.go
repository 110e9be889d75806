package heartbeat

import "time"

// Metrics counts beats. The methods are called by several goroutines at
// a time, with no lock held.
type Metrics interface {
	// LeaseRenewed tells that a lease was written, and how long after the beat was
	// due the API server had answered.
	LeaseRenewed(late time.Duration)
	// LeaseFailed tells that a renewal failed; it will be tried again.
	LeaseFailed()
	// LeaseWithheld tells that a renewal was due and the node not alive, or gone.
	LeaseWithheld()
	// StatusReported tells that a status was written, and how long after the look
	// was due the API server had answered.
	StatusReported(late time.Duration)
	// StatusFailed tells that a status could not be had or not be written; it will
	// be tried again.
	StatusFailed()
	// StatusWithheld tells that a look at the status was due and the node not
	// alive.
	StatusWithheld()
}

type noMetrics struct{}

func (noMetrics) LeaseRenewed(time.Duration)   {}
func (noMetrics) LeaseFailed()                 {}
func (noMetrics) LeaseWithheld()               {}
func (noMetrics) StatusReported(time.Duration) {}
func (noMetrics) StatusFailed()                {}
func (noMetrics) StatusWithheld()              {}
