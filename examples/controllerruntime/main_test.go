package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func execute(t *testing.T, args ...string) (code int, out, diagnostics string) {
	t.Helper()
	var written, told bytes.Buffer
	code = run(t.Context(), args, &written, &told)
	return code, written.String(), told.String()
}

func TestHelpTeaches(t *testing.T) {
	code, out, _ := execute(t, "--help")
	require.Zero(t, code)
	for _, taught := range []string{
		"crds.yaml", "Ready=Unknown", "federation.example.com/unreachable:NoExecute",
		"federation.example.com/not-ready:NoExecute", "--grace-period", "Exit codes",
	} {
		require.Contains(t, out, taught)
	}
}

func TestWrongFlagsAreUsageErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"unknown flag: --grase-period":           {"--grase-period=3s"},
		`takes no arguments, got ["now"]`:        {"now"},
		"--move-rate is 0, want more":            {"--move-rate=0"},
		"--grace-period is 0s, want more":        {"--grace-period=0"},
		"TaintRate is -1":                        {"--taint-rate=-1"},
		"HeartbeatInterval is 30s, want at most": {"--heartbeat-interval=30s"},
	} {
		code, out, diagnostics := execute(t, args...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out)
		require.Contains(t, diagnostics, want)
		require.Contains(t, diagnostics, "--help")
	}
}

func TestWithoutAClusterItSaysWhatIsMissing(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	code, _, diagnostics := execute(t)
	require.Equal(t, 1, code)
	require.Equal(t, "controllerruntime: no cluster: give --kubeconfig, or run in a cluster\n", diagnostics)
	code, _, diagnostics = execute(t, "--kubeconfig=/no/such/file")
	require.Equal(t, 1, code)
	require.Contains(t, diagnostics, "/no/such/file")
}

// A server that does not answer is named, and is no usage error.
func TestAnUnreachableServerIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here}}]
clusters: [{name: here, cluster: {server: "https://`+address+`"}}]
`), 0o600))
	code, _, diagnostics := execute(t, "--kubeconfig="+kubeconfig,
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
	require.Equal(t, 1, code)
	require.Contains(t, diagnostics, "set up at https://"+address)
	require.Contains(t, diagnostics, "connection refused")
}
