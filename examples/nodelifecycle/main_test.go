package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, func() { process.Main(run) }) }

// Each line of the log is a JSON object, that of the failure included.
func TestProgramLogsInJSON(t *testing.T) {
	child := programtest.Start(t, "--logging-format=json", "-v=8", "--master=http://127.0.0.1:"+programtest.FreePort(t))
	var last map[string]any
	for line := range strings.Lines(child.Wait(process.ExitFailed)) {
		last = nil
		require.NoError(t, json.Unmarshal([]byte(line), &last), line)
	}
	require.Equal(t, "Program failed", last["msg"])
	require.Equal(t, "nodelifecycle", last["program"])
	require.Contains(t, last["err"], "reach the API server at http://127.0.0.1:")
}

// A wrong call ends at once with one clear line and the right exit code.
func TestWrongCalls(t *testing.T) {
	unreachable := "http://127.0.0.1:" + programtest.FreePort(t)
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(broken, []byte("clusters: ["), 0o600))

	programtest.WantRefused(t, run, process.ExitUsage, map[string][]string{
		"unknown flag: --nope":                                             {"--nope"},
		"--node-monitor-grace-period":                                      {"--node-monitor-grace-period=soon"},
		"--node-monitor-grace-period is 0s, want a positive duration":      {"--node-monitor-grace-period=0s"},
		"--node-eviction-rate is -1, want zero or more":                    {"--node-eviction-rate=-1"},
		"--unhealthy-zone-threshold is 55, want more than 0 and at most 1": {"--unhealthy-zone-threshold=55"},
		`--action is "shoot", want delete`:                                 {"--action=shoot"},
		"--kube-api-qps is 0, want more than 0":                            {"--kube-api-qps=0"},
		"must be less than --leader-elect-lease-duration":                  {"--leader-elect-renew-deadline=20s"},
		"--secure-port is 70000, want 0 to 65535":                          {"--secure-port=70000"},
		"--bind-address": {"--bind-address=localhost:1"},
		`--feature-gates is "Foo=true", want none: this program has no feature gates`: {"--feature-gates=Foo=true"},
		`--logging-format is "xml", want text or json`:                                {"--logging-format=xml"},
		`takes no arguments, got ["run"]`:                                             {"run"},
	})
	programtest.WantRefused(t, run, process.ExitFailed, map[string][]string{
		"--shadow with --action=dry-run would compare nothing": {"--shadow", "--action=dry-run"},
		"no cluster for --shadow":                              {"--shadow"},
		"/does/not/exist":                                      {"--kubeconfig=/does/not/exist"},
		"load client configuration":                            {"--kubeconfig=" + broken},
		"reach the API server at " + unreachable:               {"--master=" + unreachable},
	})
}

func TestHelpTeaches(t *testing.T) {
	help := programtest.Help(t, run)
	for _, want := range []string{"--kubeconfig", "-node-lifecycle-controller", "--node-eviction-rate"} {
		require.Contains(t, help, want)
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
	programtest.WantNoRetryAfter(t, program(new(settings), io.Discard).Wrap)
}
