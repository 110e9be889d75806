package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) {
	if os.Getenv("NODELIFECYCLE_TEST_PROGRAM") == "" {
		os.Exit(m.Run())
	}
	process.Main(run)
}

// Each line of the log is a JSON object, that of the failure included.
func TestProgramLogsInJSON(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "--logging-format=json", "-v=8", "--master=http://"+closedAddress(t))
	child.Env = append(os.Environ(), "NODELIFECYCLE_TEST_PROGRAM=yes")
	var diagnostics bytes.Buffer
	child.Stderr = &diagnostics
	require.Error(t, child.Run())
	require.Equal(t, process.ExitFailed, child.ProcessState.ExitCode())
	var last map[string]any
	for line := range strings.Lines(diagnostics.String()) {
		last = nil
		require.NoError(t, json.Unmarshal([]byte(line), &last), line)
	}
	require.Equal(t, "Program failed", last["msg"])
	require.Equal(t, "nodelifecycle", last["program"])
	require.Contains(t, last["err"], "reach the API server at http://127.0.0.1:")
}

func closedAddress(t *testing.T) string {
	t.Helper()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	return closed.Addr().String()
}

// A wrong call ends at once with one clear line and the right exit code.
func TestWrongCalls(t *testing.T) {
	unreachable := "http://" + closedAddress(t)
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(broken, []byte("clusters: ["), 0o600))

	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown flag": {[]string{"--nope"}, process.ExitUsage, "unknown flag: --nope"},
		"not a duration": {[]string{"--node-monitor-grace-period=soon"}, process.ExitUsage,
			"--node-monitor-grace-period"},
		"no grace": {[]string{"--node-monitor-grace-period=0s"}, process.ExitUsage,
			"--node-monitor-grace-period is 0s, want a positive duration"},
		"negative rate": {[]string{"--node-eviction-rate=-1"}, process.ExitUsage,
			"--node-eviction-rate is -1, want zero or more"},
		"threshold above one": {[]string{"--unhealthy-zone-threshold=55"}, process.ExitUsage,
			"--unhealthy-zone-threshold is 55, want more than 0 and at most 1"},
		"no such action": {[]string{"--action=shoot"}, process.ExitUsage, `--action is "shoot", want delete`},
		"no QPS":         {[]string{"--kube-api-qps=0"}, process.ExitUsage, "--kube-api-qps is 0, want more than 0"},
		"deadline beyond lease": {[]string{"--leader-elect-renew-deadline=20s"}, process.ExitUsage,
			"must be less than --leader-elect-lease-duration"},
		"no such port": {[]string{"--secure-port=70000"}, process.ExitUsage,
			"--secure-port is 70000, want 0 to 65535"},
		"address with a port": {[]string{"--bind-address=localhost:1"}, process.ExitUsage, "--bind-address"},
		"a feature gate": {[]string{"--feature-gates=Foo=true"}, process.ExitUsage,
			`--feature-gates is "Foo=true", want none: this program has no feature gates`},
		"no such log format": {[]string{"--logging-format=xml"}, process.ExitUsage,
			`--logging-format is "xml", want text or json`},
		"an argument": {[]string{"run"}, process.ExitUsage, `takes no arguments, got ["run"]`},
		"dry shadow": {[]string{"--shadow", "--action=dry-run"}, process.ExitFailed,
			"--shadow with --action=dry-run would compare nothing"},
		"shadow of nothing":  {[]string{"--shadow"}, process.ExitFailed, "no cluster for --shadow"},
		"no such kubeconfig": {[]string{"--kubeconfig=/does/not/exist"}, process.ExitFailed, "/does/not/exist"},
		"broken kubeconfig":  {[]string{"--kubeconfig=" + broken}, process.ExitFailed, "load client configuration"},
		"no server there": {[]string{"--master=" + unreachable}, process.ExitFailed,
			"reach the API server at " + unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var out, diagnostics bytes.Buffer
			require.Equal(t, test.code, run(ctx, test.args, &out, &diagnostics))
			require.NoError(t, ctx.Err(), "it took too long")
			require.Empty(t, out.String())
			require.Contains(t, diagnostics.String(), test.says)
			require.LessOrEqual(t, strings.Count(diagnostics.String(), "\n"), 2, "one line, and where to find help:\n%s",
				diagnostics.String())
		})
	}
}

func TestHelpTeaches(t *testing.T) {
	var out, diagnostics bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, &out, &diagnostics))
	require.Empty(t, diagnostics.String())
	for _, want := range []string{"--kubeconfig", "-node-lifecycle-controller", "--node-eviction-rate", "Exit codes"} {
		require.Contains(t, out.String(), want)
	}
}

// The flags are those of packages options and commandline, which have tests of
// their own.
func TestDefaults(t *testing.T) {
	flags := command(new(settings)).FlagSet()
	for flag, value := range map[string]string{
		"kubeconfig": "", "secure-port": "10270", "leader-elect-resource-name": "nodelifecycle",
		"node-monitor-grace-period": "50s", "action": "delete",
	} {
		require.NotNil(t, flags.Lookup(flag), flag)
		require.Equal(t, value, flags.Lookup(flag).DefValue, flag)
	}
}

// client-go would sleep in a worker for as long as the header says.
func TestRetryAfterReachesNoWorker(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	client := &http.Client{Transport: program(new(settings), io.Discard).Wrap(http.DefaultTransport)}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Empty(t, response.Header.Get("Retry-After"))
}
