package main

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
)

// read shows the state of a controller, alone.
type read = func(look func(*controller.Controller))

// metrics has the one name of kube-controller-manager v1.37, and a few of its
// own.
type metrics struct {
	stale, tasks *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer, state read) (*metrics, error) {
	m := &metrics{
		stale: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "daemonset_controller_stale_sync_skips_total",
			Help: "Changes of a history that were given up because the watch cache is behind.",
		}, []string{"group", "resource"}),
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "daemonset_controller_tasks_total",
			Help: "Tasks by kind (claim, revise, create, delete, refresh, status) and outcome (done, failed). Failed ones are " +
				"tried again.",
		}, []string{"kind", "outcome"}),
	}
	m.stale.WithLabelValues("apps", "controllerrevisions")
	number := func(name, help string, of func(*controller.Controller) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() (value float64) {
			state(func(c *controller.Controller) { value = float64(of(c)) })
			return value
		})
	}
	for _, c := range []prometheus.Collector{
		m.stale, m.tasks, &phases{state},
		number("daemonset_controller_tasks_under_way", "Tasks that are being performed.",
			(*controller.Controller).UnderWay),
		number("daemonset_controller_sets_waiting",
			"DaemonSets that wait for a task, those that back off included. One counts once for each kind of task.",
			(*controller.Controller).Waiting),
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// performed counts a task that has ended.
func (m *metrics) performed(kind string, failure error) {
	if errors.Is(failure, revision.ErrStale) {
		m.stale.WithLabelValues("apps", "controllerrevisions").Inc()
	}
	outcome := "done"
	if failure != nil {
		outcome = "failed"
	}
	m.tasks.WithLabelValues(kind, outcome).Inc()
}

// phases shows how many DaemonSets are in each phase, and how many are stopped.
type phases struct{ state read }

var phaseMetric = prometheus.NewDesc("daemonset_controller_sets",
	"DaemonSets by phase: waiting, claiming, revising, filling, managed, or left alone: selectingAll, invalid, "+
		"terminating.",
	[]string{"phase"}, nil)

var stoppedMetric = prometheus.NewDesc("daemonset_controller_sets_stopped",
	"DaemonSets whose rollout, or all of which, waits for a correction of the spec. An Event says why.", nil, nil)

func (p *phases) Describe(out chan<- *prometheus.Desc) {
	out <- phaseMetric
	out <- stoppedMetric
}

func (p *phases) Collect(out chan<- prometheus.Metric) {
	counts := map[string]int{
		"waiting": 0, "claiming": 0, "revising": 0, "filling": 0, "managed": 0,
		"selectingAll": 0, "invalid": 0, "terminating": 0,
	}
	stopped := 0
	p.state(func(c *controller.Controller) {
		for set := range c.Sets() {
			counts[set.Phase]++
			if set.Stopped {
				stopped++
			}
		}
	})
	out <- prometheus.MustNewConstMetric(stoppedMetric, prometheus.GaugeValue, float64(stopped))
	for phase, n := range counts {
		out <- prometheus.MustNewConstMetric(phaseMetric, prometheus.GaugeValue, float64(n), phase)
	}
}
