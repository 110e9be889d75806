package nodehealth_test

import (
	"fmt"
	"log"
	"math"
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

// phiAccrual is the failure detector of N. Hayashibara, X. Défago, R. Yared and
// T. Katayama, "The φ accrual failure detector" (SRDS 2004). It assumes
// that the times between heartbeats are normally distributed. Phi is -log10 of
// the probability that a heartbeat still arrives. A key is silent once phi
// reaches the threshold.
type phiAccrual struct {
	threshold    float64
	leastStdDev  float64
	last         time.Time
	samples      float64
	mean, square float64 // of the intervals in seconds, weighted by age
}

const ageWeight = 0.1 // of the newest interval

func (p *phiAccrual) Heartbeat(now time.Time) {
	interval := now.Sub(p.last).Seconds()
	if !p.last.IsZero() {
		p.samples++
		weight := max(ageWeight, 1/p.samples)
		p.mean += weight * (interval - p.mean)
		p.square += weight * (interval*interval - p.square)
	}
	p.last = now
}

func (p *phiAccrual) GracePeriod() time.Duration {
	if p.samples < 3 {
		return 0 // not known yet
	}
	deviation := max(p.leastStdDev, math.Sqrt(max(0, p.square-p.mean*p.mean)))
	late := math.Sqrt2 * math.Erfcinv(2*math.Pow(10, -p.threshold))
	return time.Duration((p.mean + deviation*late) * float64(time.Second))
}

// Two agents send heartbeats at their own pace. Silence of the quick one is
// found sooner, though nothing was configured for it.
func ExampleDetector() {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	monitor, err := nodehealth.NewMonitor[string](nodehealth.Config{
		GracePeriod: time.Minute,
		Detector: func() nodehealth.Detector {
			return &phiAccrual{threshold: 8, leastStdDev: 0.5}
		},
	}, now)
	if err != nil {
		log.Fatal(err)
	}
	monitor.Observe(now, "quick", nodehealth.Observation{Reported: true})
	monitor.Observe(now, "slow", nodehealth.Observation{Reported: true})
	for second := range 121 {
		at := now.Add(time.Duration(second) * time.Second)
		monitor.Heartbeat(at, "quick")
		if second%10 == 0 {
			monitor.Heartbeat(at, "slow")
		}
	}
	stopped := now.Add(2 * time.Minute)
	for {
		next, ok := monitor.Next(stopped)
		if !ok {
			break
		}
		if task, ok := monitor.Start(next); ok {
			fmt.Printf("%s is silent after %v\n", task.Key, task.GracePeriod.Round(100*time.Millisecond))
			monitor.Finish(next, task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
		}
	}
	// Output:
	// quick is silent after 3.8s
	// slow is silent after 12.8s
}
