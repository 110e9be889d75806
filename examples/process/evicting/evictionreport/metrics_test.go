package evictionreport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/eviction"
)

// served returns the metrics as they are served, without comments and buckets.
func served(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var lines bytes.Buffer
	for line := range strings.Lines(answer.Body.String()) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

var (
	forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "cart", errors.New("no"))
	due       = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	task      = eviction.Task{
		Pod:  eviction.Key{Namespace: "shop", Name: "cart", UID: "u"},
		Node: "n1",
		Decision: eviction.Decision{Reason: eviction.ReasonUntolerated, Due: due,
			Taint: eviction.Taint{Taint: corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoExecute}}},
	}
)

// Upstream's duration is multiplied by 1e9
// (https://github.com/kubernetes/kubernetes/pull/141311); ours is in seconds.
func TestMetricsCountAttemptsByOutcomeAndCause(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(Config{Registry: registry})
	require.NoError(t, err)
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeEvicted}, due.Add(1500*time.Millisecond))
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeEvicted}, due.Add(500*time.Millisecond))
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeFailed, Err: forbidden}, due)
	m.Acted(task,
		eviction.Result{Outcome: eviction.OutcomeFailed, Err: fmt.Errorf("delete: %w", context.DeadlineExceeded)}, due)
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeNotDue}, due)
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeNotDue, Reason: eviction.ReasonTolerated}, due)
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeBlocked, Err: apierrors.NewTooManyRequests("wait", 1)}, due)
	require.Equal(t, `pod_eviction_attempts_total{cause="",outcome="Evicted"} 2
pod_eviction_attempts_total{cause="Canceled",outcome="NotDue"} 1
pod_eviction_attempts_total{cause="Forbidden",outcome="Failed"} 1
pod_eviction_attempts_total{cause="Overloaded",outcome="Blocked"} 1
pod_eviction_attempts_total{cause="Timeout",outcome="Failed"} 1
pod_eviction_attempts_total{cause="Tolerated",outcome="NotDue"} 1
taint_eviction_controller_pod_deletion_duration_seconds_sum 2
taint_eviction_controller_pod_deletion_duration_seconds_count 2
taint_eviction_controller_pod_deletions_total 2
`, served(t, registry))
}

func TestDryRunDeletesNothingInMetricsEither(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(Config{Registry: registry})
	require.NoError(t, err)
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeDryRun}, due)
	m.Acted(task, eviction.Result{Outcome: eviction.OutcomeDryRun}, due)
	text := served(t, registry)
	require.Contains(t, text, `pod_eviction_attempts_total{cause="",outcome="DryRun"} 2`)
	require.Contains(t, text, "\ntaint_eviction_controller_pod_deletions_total 0")
}

func TestGaugesSayWhatWaitsAndForWhat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		_, err := NewMetrics(Config{
			Registry: registry, Read: reading(inTracker(t)), Budgets: []eviction.Budget{
				{Name: "overall"}, {Name: "namespace", ByPod: func(pod *corev1.Pod) string { return pod.Namespace }},
			},
		})
		require.NoError(t, err)
		text := served(t, registry)
		for _, line := range []string{
			"pod_evictions_pending 5", "pod_evictions_acting 1",
			"pod_evictions_oldest_overdue_seconds 1.5",
			`pod_evictions_waiting_for_budget{budget="namespace"} 1`,
		} {
			require.Contains(t, "\n"+text, "\n"+line+"\n")
		}
		require.NotContains(t, text, `"overall"`, "nothing waits for a share of it")
	})
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, err := NewMetrics(Config{Registry: registry})
	require.NoError(t, err)
	_, err = NewMetrics(Config{Registry: registry})
	require.ErrorContains(t, err, "register metrics")
}

// What an operator greps for.
func TestLog(t *testing.T) {
	for _, test := range []struct {
		report eviction.Result
		level  int // at which it is seen; -1 is an error
		says   string
	}{
		{eviction.Result{Outcome: eviction.OutcomeEvicted}, 2,
			`"msg"="Evicted pod".*"why"="does not tolerate taint k:NoExecute"`},
		{eviction.Result{Outcome: eviction.OutcomeFailed, Err: forbidden}, -1,
			`Eviction failed, will try again.*forbidden.*"cause"="Forbidden" "attempts"=1`},
		{eviction.Result{Outcome: eviction.OutcomeBlocked, Err: forbidden}, 2,
			`PodDisruptionBudget does not allow.*forbidden`},
		{eviction.Result{Outcome: eviction.OutcomeNotDue}, 0, `need not leave after all`},
		{eviction.Result{Outcome: eviction.OutcomeGone}, 2, `gone already`},
		{eviction.Result{Outcome: eviction.OutcomeDryRun}, 0, `"Would evict pod".*"why"=.*"due"=`},
	} {
		for level := range 3 {
			var lines []string
			logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: level})
			Log(logger, task, test.report)
			if level < test.level {
				require.Empty(t, lines)
				continue
			}
			require.Len(t, lines, 1)
			require.Regexp(t, test.says, lines[0])
			require.Contains(t, lines[0], `"name"="cart"`)
			require.Contains(t, lines[0], `"node"="n1"`)
		}
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, reason := range []eviction.Reason{
		eviction.ReasonNoTaints, eviction.ReasonTolerated, eviction.ReasonUntolerated, eviction.ReasonTolerationEnds,
		eviction.ReasonNodeEvicted, eviction.ReasonExempt, eviction.ReasonGone,
	} {
		require.NotEqual(t, string(reason), Why(eviction.Decision{Reason: reason}))
	}
}
