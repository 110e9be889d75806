package alerting

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/alerts"
)

// interval is that between two evaluations, and between two values of a series.
const interval = 30 * time.Second

// healthy are two replicas of each program through an hour in which pods are
// evicted, a node is lost and one replica is replaced. "_" is a value that is
// missing.
const healthy = `
up{job="nodelifecycle",instance="a"}                                        1x120
up{job="nodelifecycle",instance="b"}                                        1x60 0x1 1x60
up{job="tainteviction",instance="c"}                                        1x120
process_start_time_seconds{job="nodelifecycle",instance="a"}                100x120
process_start_time_seconds{job="nodelifecycle",instance="b"}                100x60 _x1 2000x60
process_start_time_seconds{job="tainteviction",instance="c"}                100x120
leader_election_master_status{job="nodelifecycle",instance="a",name="nodelifecycle"} 0x61 1x60
leader_election_master_status{job="nodelifecycle",instance="b",name="nodelifecycle"} 1x60 _x1 0x60
leader_election_master_status{job="tainteviction",instance="c",name="tainteviction"} 1x120
controller_halted{job="nodelifecycle",instance="a"}                         0x20 1x60 0x40
controller_halted{job="tainteviction",instance="c"}                         0x120
pod_evictions_oldest_overdue_seconds{job="nodelifecycle",instance="a"}      0x20 0+30x59 1800 900 0x40
pod_evictions_oldest_overdue_seconds{job="tainteviction",instance="c"}      0x40 250x40 900 0x40
nodelifecycle_cluster_phase{job="nodelifecycle",instance="a",phase="Recovering"} 1x2 _x120
nodelifecycle_cluster_phase{job="nodelifecycle",instance="a",phase="Holding"}    _x70 1x1
nodelifecycle_cluster_phase{job="nodelifecycle",instance="a",phase="Active"}     _x2 1x65 _x2 1x50
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="blind"}          0x50 1x8 0x60
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="unread"}         0x58 1x8 0x60
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="unconfirmed"}    0x68 1x2 0x50
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="holding"}        0x70 1x1 0x50
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="watch"}          0x30 1x2 0x88
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="recovering"}     1x120
nodelifecycle_refuted_silences_total{job="nodelifecycle",instance="a"}      3x120
nodelifecycle_stale_objects_total{job="nodelifecycle",instance="a"}         2x120
nodelifecycle_refused_writes_total{job="nodelifecycle",instance="a"}        0x10 0+30x5 150x105
daemonset_controller_tasks_total{job="daemonset",instance="a",kind="create",outcome="failed"} 0x20 9x100
daemonset_controller_sets_stopped{job="daemonset",instance="a"}             0x20 1x19 0x80
scheduler_pending_pods{job="scheduler",instance="a",queue="unschedulable"}  0x20 5x40 0x60
scheduler_schedule_attempts_total{job="scheduler",instance="a",result="error"} 0x20 9x100
failover_oldest_overdue_seconds{job="controllerruntime",instance="a"}       0x20 0+30x15 0x85
`

// trouble is what an alarm is raised for. The rest of the cluster is not shown:
// an alarm that needs a second series to stay silent has it here.
var trouble = map[string]struct {
	series string
	// silent and firing are two evaluations, the first not long enough after the
	// trouble has begun in minute 10.
	silent, firing time.Duration
	// labels are those of the alarms, besides name and severity.
	labels []string
	says   string
}{
	"ControllerUnreachable": {
		series: `
up{job="nodelifecycle",instance="a"} 1x19 0x60
up{job="nodelifecycle",instance="b"} 1x80
up{job="other",instance="z"}         0x80`,
		silent: 11*time.Minute + interval, firing: 12 * time.Minute,
		labels: []string{`{instance="a", job="nodelifecycle"}`}, says: "nodelifecycle on a answers no scrape.",
	},
	"NoController": {
		series: `
up{job="nodelifecycle",instance="a"} 1x19 0x60
up{job="nodelifecycle",instance="b"} 1x19 0x60
up{job="tainteviction",instance="c"} 1x80`,
		silent: 10*time.Minute + interval, firing: 11 * time.Minute,
		labels: []string{`{job="nodelifecycle"}`}, says: "No replica of nodelifecycle answers",
	},
	"ControllerRestarts": {
		series: `
process_start_time_seconds{job="nodelifecycle",instance="a"} 100x9 300x5 500x3 600x60
process_start_time_seconds{job="tainteviction",instance="c"} 100x9 300x9 500x60`,
		silent: 10*time.Minute + interval, firing: 11 * time.Minute,
		labels: []string{`{instance="a", job="nodelifecycle"}`}, says: "has started 3 times in 30 minutes",
	},
	"NoLeader": {
		series: `
leader_election_master_status{job="nodelifecycle",instance="a",name="nodelifecycle"} 1x19 0x60
leader_election_master_status{job="nodelifecycle",instance="b",name="nodelifecycle"} 0x80
leader_election_master_status{job="tainteviction",instance="c",name="tainteviction"} 0x10 1x70
leader_election_master_status{job="tainteviction",instance="d",name="tainteviction"} 1x10 0x70`,
		silent: 10*time.Minute + interval, firing: 11 * time.Minute,
		labels: []string{`{job="nodelifecycle", name="nodelifecycle"}`}, says: "No replica of nodelifecycle holds the lease",
	},
	"HaltedForLong": {
		series: `
controller_halted{job="tainteviction",instance="c"} 0x19 1x200
controller_halted{job="nodelifecycle",instance="a"} 0x200`,
		silent: 69*time.Minute + interval, firing: 70 * time.Minute,
		labels: []string{`{job="tainteviction"}`}, says: "tainteviction has been halted for an hour.",
	},
	"EvictionsLate": {
		series: `
pod_evictions_oldest_overdue_seconds{job="nodelifecycle",instance="a"} 0x18 301+30x60
pod_evictions_oldest_overdue_seconds{job="nodelifecycle",instance="b"} 0x80
pod_evictions_oldest_overdue_seconds{job="tainteviction",instance="c"} 0x18 301+30x60
controller_halted{job="nodelifecycle",instance="a"}                    0x80
controller_halted{job="tainteviction",instance="c"}                    1x80`,
		silent: 14 * time.Minute, firing: 14*time.Minute + interval,
		labels: []string{`{job="nodelifecycle"}`}, says: "left its node 10m 1s ago, says nodelifecycle.",
	},
	"ClusterSuspended": {
		series: `
nodelifecycle_cluster_phase{job="nodelifecycle",instance="a",phase="Active"}    1x19
nodelifecycle_cluster_phase{job="nodelifecycle",instance="a",phase="Suspended"} _x20 1x60`,
		silent: 10*time.Minute + interval, firing: 11 * time.Minute,
		labels: []string{`{job="nodelifecycle"}`}, says: "All zones are disrupted",
	},
	"DoubtLasts": {
		series: `
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="blind"}      0x19 1x60
nodelifecycle_doubt{job="nodelifecycle",instance="b",kind="unread"}     0x19 1x60
nodelifecycle_doubt{job="nodelifecycle",instance="b",kind="recovering"} 1x80`,
		silent: 14*time.Minute + interval, firing: 15 * time.Minute,
		labels: []string{`{job="nodelifecycle", kind="blind"}`, `{job="nodelifecycle", kind="unread"}`},
		says:   "for five minutes: ",
	},
	"NodesWithoutRate": {
		series: `
nodelifecycle_waiting_nodes{job="nodelifecycle",instance="a",reason="rate"} 0x19 3x60
nodelifecycle_waiting_nodes{job="nodelifecycle",instance="b",reason="rate"} 0x80
nodelifecycle_waiting_nodes{job="nodelifecycle",instance="a",reason="turn"} 2x80`,
		silent: 24*time.Minute + interval, firing: 25 * time.Minute,
		labels: []string{`{job="nodelifecycle"}`}, says: "3 silent or not ready nodes",
	},
	"StaleCaches": {
		series: `
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="watch"}     0x19 1x60
nodelifecycle_refuted_silences_total{job="nodelifecycle",instance="a"} 3x80`,
		silent: 11*time.Minute + interval, firing: 12 * time.Minute,
		labels: []string{`{job="nodelifecycle"}`}, says: "behind the API server",
	},
	"DaemonSetTasksFail": {
		series: `
daemonset_controller_tasks_total{job="daemonset",instance="a",kind="create",outcome="failed"} 0x19 0+2x80
daemonset_controller_tasks_total{job="daemonset",instance="a",kind="create",outcome="done"}   0+9x100
daemonset_controller_tasks_total{job="daemonset",instance="a",kind="delete",outcome="failed"} 0x19 20x80`,
		silent: 29*time.Minute + interval, firing: 30*time.Minute + interval,
		labels: []string{`{job="daemonset", kind="create"}`}, says: "tasks of daemonset failed in 15 minutes: create.",
	},
	"DaemonSetsStopped": {
		series: `
daemonset_controller_sets_stopped{job="daemonset",instance="a"} 0x19 2x80
daemonset_controller_sets_stopped{job="daemonset",instance="b"} 0x100`,
		silent: 19*time.Minute + interval, firing: 20 * time.Minute,
		labels: []string{`{job="daemonset"}`}, says: "2 DaemonSets of daemonset have been stopped",
	},
	"PodsUnschedulable": {
		series: `
scheduler_pending_pods{job="scheduler",instance="a",queue="unschedulable"} 0x19 7x80
scheduler_pending_pods{job="scheduler",instance="b",queue="unschedulable"} 0x100
scheduler_pending_pods{job="scheduler",instance="a",queue="gated"}         3x100`,
		silent: 39*time.Minute + interval, firing: 40 * time.Minute,
		labels: []string{`{job="scheduler"}`}, says: "7 pods of scheduler",
	},
	"SchedulingFails": {
		series: `
scheduler_schedule_attempts_total{job="scheduler",instance="a",result="error"}         0x19 0+2x80
scheduler_schedule_attempts_total{job="scheduler",instance="a",result="unschedulable"} 0+9x100`,
		silent: 29*time.Minute + interval, firing: 30*time.Minute + interval,
		labels: []string{`{job="scheduler"}`}, says: "attempts of scheduler",
	},
	"MovesLate": {
		series: `
failover_oldest_overdue_seconds{job="controllerruntime",instance="a"} 0x18 301+30x60
failover_oldest_overdue_seconds{job="halted",instance="a"}            0x18 301+30x60
controller_halted{job="controllerruntime",instance="a"}               0x80
controller_halted{job="halted",instance="a"}                          1x80`,
		silent: 14 * time.Minute, firing: 14*time.Minute + interval,
		labels: []string{`{job="controllerruntime"}`}, says: "left its cluster 10m 1s ago, says controllerruntime.",
	},
	"StaleCaches by refused writes": {
		series: `
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="watch"}  0x80
nodelifecycle_stale_objects_total{job="nodelifecycle",instance="a"} 3x19 4x60`,
		silent: 11*time.Minute + interval, firing: 12 * time.Minute,
		labels: []string{`{job="nodelifecycle"}`}, says: "behind the API server",
	},
	"WritesRefused": {
		series: `
nodelifecycle_refused_writes_total{job="nodelifecycle",instance="a"} 0x19 0+2x80`,
		silent: 26 * time.Minute, firing: 26*time.Minute + interval,
		labels: []string{`{job="nodelifecycle"}`}, says: "writes of nodelifecycle in 5 minutes",
	},
	"StaleCaches by live reads": {
		series: `
nodelifecycle_doubt{job="nodelifecycle",instance="a",kind="watch"}     0x80
nodelifecycle_refuted_silences_total{job="nodelifecycle",instance="a"} 3x19 4x60`,
		silent: 11*time.Minute + interval, firing: 12 * time.Minute,
		labels: []string{`{job="nodelifecycle"}`}, says: "behind the API server",
	},
}

// Prometheus takes the file, and each rule tells an operator what to do.
func TestRulesAreWellFormed(t *testing.T) {
	for _, rule := range read(t) {
		require.NotZero(t, rule.For, rule.Alert)
		require.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.Greater(t, len(rule.Annotations["description"]), 100, rule.Alert)
	}
}

// Both ways to find the metrics of an expression agree: package alerts uses the
// simple one, for the programs' tests.
func TestSelectorsAreThoseOfPrometheus(t *testing.T) {
	var want []string
	for _, rule := range read(t) {
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
		require.NoError(t, err)
		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			if s, is := node.(*parser.VectorSelector); is && s.Name != "up" {
				want = append(want, s.Name)
			}
			return nil
		})
	}
	var found []string
	for _, group := range []string{
		"programs", "evictions", "nodelifecycle", "daemonset", "scheduler", "controllerruntime",
	} {
		selectors, err := alerts.Selectors(group)
		require.NoError(t, err)
		for _, s := range selectors {
			found = append(found, s.Metric)
		}
	}
	require.ElementsMatch(t, want, found)
}

// Each alarm is raised after its time, and no other for what is not there.
func TestAlarmsAreRaised(t *testing.T) {
	tested := make(map[string]bool)
	for name, test := range trouble {
		alert, _, _ := strings.Cut(name, " ")
		tested[alert] = true
		t.Run(name, func(t *testing.T) {
			found := play(t, test.series, test.firing)
			require.Empty(t, found.at(alert, test.silent), "not yet")
			var raised []string
			for _, alarm := range found.at(alert, test.firing) {
				raised = append(raised, labels.NewBuilder(alarm.Labels).Del("alertname", "severity").Labels().String())
				require.Contains(t, alarm.Annotations.Get("summary"), test.says)
				alarm.Annotations.Range(func(l labels.Label) { require.NotContains(t, l.Value, "<error") })
			}
			require.ElementsMatch(t, test.labels, raised)
		})
	}
	for _, rule := range read(t) {
		require.True(t, tested[rule.Alert], "no series raises %s", rule.Alert)
	}
}

// A cluster that works, with all that belongs to that, raises none.
func TestNoAlarmInAHealthyCluster(t *testing.T) {
	for _, at := range play(t, healthy, time.Hour).evaluations {
		for alert, raised := range at {
			require.Empty(t, raised, alert)
		}
	}
}

// history holds the firing alarms of each evaluation, by the name of their
// rule.
type history struct{ evaluations []map[string][]rules.Alert }

func (h history) at(alert string, after time.Duration) []rules.Alert {
	return h.evaluations[after/interval][alert]
}

// play evaluates all rules on the series from their first value until the end.
func play(t *testing.T, series string, end time.Duration) history {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load "+model.Duration(interval).String()+"\n"+indented(series))
	t.Cleanup(func() { require.NoError(t, storage.Close()) })
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, 100000), storage)
	var all []*rules.AlertingRule
	for _, r := range read(t) {
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		require.NoError(t, err)
		all = append(all, rules.NewAlertingRule(r.Alert, expression, time.Duration(r.For), time.Duration(r.KeepFiringFor),
			labels.FromMap(r.Labels), labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, promslog.NewNopLogger()))
	}
	var played history
	for after := time.Duration(0); after <= end; after += interval {
		firing := make(map[string][]rules.Alert)
		for _, rule := range all {
			_, err := rule.Eval(t.Context(), 0, time.Unix(0, 0).Add(after), query, &url.URL{}, 0)
			require.NoError(t, err)
			for _, alarm := range rule.ActiveAlerts() {
				if alarm.State == rules.StateFiring {
					firing[rule.Name()] = append(firing[rule.Name()], *alarm)
				}
			}
		}
		played.evaluations = append(played.evaluations, firing)
	}
	return played
}

func indented(series string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(series), "\n", "\n  ")
}

// read returns the rules as Prometheus reads them.
func read(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse(alerts.Rules(), false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	require.Empty(t, errs)
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}
