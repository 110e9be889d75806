package main

import (
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/alerts"
	"github.com/kubelife/lifecycle/examples/process/programtest"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/zone"
)

// An alert rule for a metric that has another name never fires.
func TestAlertRulesNameMetricsThatAreServed(t *testing.T) {
	page := metricsOfTheProgram(t)
	require.Contains(t, page, "'s Lease holds all evictions and NoExecute taints.\n# TYPE controller_halted")
	phases := []string{
		string(zone.PhaseActive), string(zone.PhaseHolding), string(zone.PhasePaused),
		string(zone.PhaseSuspended), string(zone.PhaseRecovering),
	}
	var kinds []string
	for _, kind := range controller.DoubtKinds() {
		kinds = append(kinds, string(kind))
	}
	var reasons []string
	for _, reason := range controller.WaitReasons() {
		reasons = append(reasons, string(reason))
	}
	for _, group := range []string{"programs", "evictions", "nodelifecycle"} {
		selectors, err := alerts.Selectors(group)
		require.NoError(t, err)
		for _, s := range selectors {
			require.Contains(t, page, "\n# TYPE "+s.Metric+" ")
			require.Subset(t, phases, s.Values["phase"])
			require.Subset(t, kinds, s.Values["kind"])
			require.Subset(t, reasons, s.Values["reason"])
		}
	}
}

// Each doubt that delays a declaration raises an alarm when it lasts. The
// others hold taints: a suspended cluster has an alarm of its own, and a
// stabilization window ends by itself.
func TestAlertRulesKnowEachDoubt(t *testing.T) {
	selectors, err := alerts.Selectors("nodelifecycle")
	require.NoError(t, err)
	var known []string
	for _, s := range selectors {
		known = append(known, s.Values["kind"]...)
	}
	for _, kind := range controller.DoubtKinds() {
		require.Equal(t, !controller.Doubt{Kind: kind}.HoldsTaints(), slices.Contains(known, string(kind)), kind)
	}
}

// metricsOfTheProgram is what /metrics shows of a cluster without nodes.
func metricsOfTheProgram(t *testing.T) string {
	t.Helper()
	port := programtest.FreePort(t)
	var s settings
	require.NoError(t, command(&s).FlagSet().Parse([]string{"--secure-port=" + port}))
	ctx, stop := context.WithCancel(t.Context())
	ended, cluster := make(chan error), memory.NewCluster()
	go func() {
		ended <- program(&s, io.Discard).RunOn(ctx, process.Clients{
			Acting: cluster.NewClient(), Watching: cluster.NewClient(),
			Recording: cluster.NewClient(), Electing: cluster.NewClient(),
		})
	}()
	defer func() {
		stop()
		require.NoError(t, <-ended)
	}()
	var page []byte
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+"/metrics", nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		page, err = io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode == http.StatusOK
	}, 2*time.Minute, 5*time.Millisecond)
	return string(page)
}
