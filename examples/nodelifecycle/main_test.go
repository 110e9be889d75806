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

// The flags are those of package options, which has tests of its own, and how to
// reach a cluster and this program.
func TestDefaults(t *testing.T) {
	var s settings
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.addFlags(flags)
	for name, value := range map[string]string{
		"kubeconfig": "", "master": "", "metrics-bind-address": ":10270", "v": "0",
		"leader-elect-resource-name": "nodelifecycle", "leader-elect-resource-namespace": "kube-system",
		"node-monitor-grace-period": "50s",
	} {
		flag := flags.Lookup(name)
		require.NotNil(t, flag, name)
		require.Equal(t, value, flag.DefValue, name)
	}
	require.NoError(t, s.validate())
	require.NoError(t, flags.Parse([]string{"--metrics-bind-address=localhost", "--kube-api-qps=0", "--node-monitor-period=0s"}))
	require.EqualError(t, s.validate(), "--metrics-bind-address: address localhost: missing port in address\n"+
		"--kube-api-qps is 0, want more than 0\n--node-monitor-period is 0s, want a positive duration")
}
