package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
)

// metrics has the names of kube-scheduler v1.37 where they have its meaning.
type metrics struct {
	profile     string
	attempts    *prometheus.CounterVec
	perPod      prometheus.Histogram
	seconds     *prometheus.HistogramVec
	preemptions prometheus.Counter
	victims     prometheus.Histogram
	evicted     prometheus.Counter
}

func newMetrics(profile string, registry prometheus.Registerer, b *binder) (*metrics, error) {
	m := &metrics{
		profile: profile,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scheduler_schedule_attempts_total",
			Help: "Attempts to schedule pods, by result: scheduled, unschedulable or error.",
		}, []string{"result", "profile"}),
		perPod: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scheduler_pod_scheduling_attempts", Help: "Attempts until a pod was bound.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 5),
		}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "scheduler_pod_scheduling_sli_duration_seconds",
			Help:    "Seconds from when a pod was first seen until it was bound, by attempts; 15+ is one value.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 20),
		}, []string{"attempts"}),
		preemptions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scheduler_preemption_attempts_total", Help: "Times that pods were chosen to make room.",
		}),
		victims: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scheduler_preemption_victims", Help: "Pods that were chosen at a time to make room for one.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 7),
		}),
		evicted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scheduler_victims_evicted_total", Help: "Pods that the Eviction API has let make room.",
		}),
	}
	for _, c := range []prometheus.Collector{
		m.attempts, m.perPod, m.seconds, m.preemptions, m.victims, m.evicted, pendingPods{b},
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// performed counts the result of a task that ended at a time.
func (m *metrics) performed(task scheduling.Task, result scheduling.Result, ended time.Time) {
	failed := result.Outcome != scheduling.OutcomeDone
	switch {
	case task.Action == scheduling.ActionRead:
	case failed:
		m.attempts.WithLabelValues("error", m.profile).Inc()
	case task.Action == scheduling.ActionReport:
		m.attempts.WithLabelValues("unschedulable", m.profile).Inc()
		if n := len(task.Decision.Victims); n > 0 {
			m.preemptions.Inc()
			m.victims.Observe(float64(n))
		}
	default:
		m.attempts.WithLabelValues("scheduled", m.profile).Inc()
		m.perPod.Observe(float64(task.Attempts))
		attempts := strconv.Itoa(task.Attempts)
		if task.Attempts >= 15 {
			attempts = "15+"
		}
		m.seconds.WithLabelValues(attempts).Observe(ended.Sub(task.Since).Seconds())
	}
}

// pendingPods reads the queues when it is asked.
type pendingPods struct{ b *binder }

var pendingDesc = prometheus.NewDesc("scheduler_pending_pods",
	"Pods that have no node, by queue: active, backoff, unschedulable or gated.", []string{"queue"}, nil)

func (p pendingPods) Describe(descs chan<- *prometheus.Desc) { descs <- pendingDesc }

func (p pendingPods) Collect(found chan<- prometheus.Metric) {
	var counts map[string]int
	p.b.dispatcher.View(func() { counts = p.b.core.Pending() })
	for queue, count := range counts {
		found <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(count), queue)
	}
}
