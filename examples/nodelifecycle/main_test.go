package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

// A wrong call ends at once with one clear line and the right exit code.
func TestWrongCalls(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	unreachable := "http://" + closed.Addr().String()
	require.NoError(t, closed.Close())
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(broken, []byte("clusters: ["), 0o600))

	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown flag":           {[]string{"--nope"}, exitUsage, "unknown flag: --nope"},
		"not a duration":         {[]string{"--node-monitor-grace-period=soon"}, exitUsage, "--node-monitor-grace-period"},
		"no grace":               {[]string{"--node-monitor-grace-period=0s"}, exitUsage, "--node-monitor-grace-period is 0s, want a positive duration"},
		"negative rate":          {[]string{"--node-eviction-rate=-1"}, exitUsage, "--node-eviction-rate is -1, want zero or more"},
		"threshold above one":    {[]string{"--unhealthy-zone-threshold=55"}, exitUsage, "--unhealthy-zone-threshold is 55, want more than 0 and at most 1"},
		"no QPS":                 {[]string{"--kube-api-qps=0"}, exitUsage, "--kube-api-qps is 0, want more than 0"},
		"deadline beyond lease":  {[]string{"--leader-elect-renew-deadline=20s"}, exitUsage, "must be less than --leader-elect-lease-duration"},
		"address without a port": {[]string{"--metrics-bind-address=localhost"}, exitUsage, "--metrics-bind-address"},
		"an argument":            {[]string{"run"}, exitUsage, `takes no arguments, got ["run"]`},
		"no such kubeconfig":     {[]string{"--kubeconfig=/does/not/exist"}, exitFailed, "/does/not/exist"},
		"broken kubeconfig":      {[]string{"--kubeconfig=" + broken}, exitFailed, "load client configuration"},
		"nobody there":           {[]string{"--master=" + unreachable}, exitFailed, "reach the API server at " + unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var out, diagnostics bytes.Buffer
			require.Equal(t, test.code, run(ctx, test.args, &out, &diagnostics))
			require.NoError(t, ctx.Err(), "it took too long")
			require.Empty(t, out.String())
			require.Contains(t, diagnostics.String(), test.says)
			require.LessOrEqual(t, strings.Count(diagnostics.String(), "\n"), 2, "one line, and where to find help:\n%s", diagnostics.String())
		})
	}
}

func TestHelpTeaches(t *testing.T) {
	var diagnostics bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, &bytes.Buffer{}, &diagnostics))
	for _, want := range []string{"--kubeconfig", "-node-lifecycle-controller", "--node-eviction-rate", "Exit codes"} {
		require.Contains(t, diagnostics.String(), want)
	}
}

// The defaults are those of kube-controller-manager v1.37.
func TestDefaults(t *testing.T) {
	var o options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addFlags(flags)
	for name, value := range map[string]string{
		"node-monitor-period": "5s", "node-monitor-grace-period": "50s", "node-startup-grace-period": "1m0s",
		"node-eviction-rate": "0.1", "secondary-node-eviction-rate": "0.01", "large-cluster-size-threshold": "50",
		"unhealthy-zone-threshold": "0.55", "kube-api-qps": "20", "kube-api-burst": "30", "leader-elect": "true",
		"leader-elect-lease-duration": "15s", "leader-elect-renew-deadline": "10s", "leader-elect-retry-period": "2s",
	} {
		flag := flags.Lookup(name)
		require.NotNil(t, flag, name)
		require.Equal(t, value, flag.DefValue, name)
	}
	require.NoError(t, o.validate())
	rate := o.controller().Zone.Rate
	require.InDelta(t, 0.1, rate(zone.Normal, zone.Counts{Ready: 10}), 0)
	require.InDelta(t, 0.1, rate(zone.FullDisruption, zone.Counts{NotReady: 10}), 0)
	require.InDelta(t, 0, rate(zone.PartialDisruption, zone.Counts{NotReady: 50}), 0)
	require.InDelta(t, 0.01, rate(zone.PartialDisruption, zone.Counts{NotReady: 51}), 0)
}
