package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// scribe is a program that logs in each way that the programs and client-go do.
func scribe(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	command := &Command{
		Process: &commandline.Process{Name: "logger", Port: 1}, Settings: new(colour), Intro: "logger logs.\n",
		Run: func(ctx context.Context, _ *pflag.FlagSet, _ io.Writer) error {
			log := klog.FromContext(ctx).WithValues("zone", "a")
			log.Info("Evicted", "pod", klog.KRef("shop", "cart-1"), "after", 90*time.Second)
			log.Error(errors.New("of\ntwo lines"), "Not evicted")
			log.V(2).Info("Contextual at 2")
			log.V(4).Info("Contextual at 4")
			klog.Infof("Of %s", "klog")
			klog.V(2).InfoS("Of klog at 2", "key", 7)
			klog.V(4).InfoS("Of klog at 4")
			utilruntime.HandleErrorWithContext(ctx, errors.New("cut"), "Watch ended")
			return errors.New("no more paper")
		},
	}
	return command.Execute(ctx, args, out, diagnostics)
}

// logOf runs that program and returns what it writes to standard error.
func logOf(t *testing.T, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, os.Args[0], args...)
	program.Env = append(os.Environ(), "PROCESS_TEST_PROGRAM=logs")
	var written bytes.Buffer
	program.Stderr = &written
	require.Error(t, program.Run())
	require.Equal(t, ExitFailed, program.ProcessState.ExitCode(), written.String())
	return strings.Split(strings.TrimSpace(written.String()), "\n")
}

// Each line is one object, those of client-go and the last included.
func TestLogInJSON(t *testing.T) {
	byMessage := make(map[string]map[string]any)
	for _, line := range logOf(t, "--logging-format=json", "-v=2") {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		require.Contains(t, entry, "ts", line)
		require.Contains(t, entry, "caller", line)
		byMessage[strings.TrimSpace(entry["msg"].(string))] = entry
	}
	evicted := byMessage["Evicted"]
	require.Equal(t, "a", evicted["zone"])
	require.Equal(t, map[string]any{"namespace": "shop", "name": "cart-1"}, evicted["pod"])
	require.Equal(t, "1m30s", evicted["after"])
	require.InDelta(t, 0, evicted["v"], 0)
	require.Equal(t, "of\ntwo lines", byMessage["Not evicted"]["err"])
	require.InDelta(t, 2, byMessage["Contextual at 2"]["v"], 0)
	require.Contains(t, byMessage, "Of klog")
	require.InDelta(t, 7, byMessage["Of klog at 2"]["key"], 0)
	require.Equal(t, "cut", byMessage["Watch ended"]["err"])
	require.Equal(t, "no more paper", byMessage["Program failed"]["err"])
	require.Equal(t, "logger", byMessage["Program failed"]["program"])
	require.Len(t, byMessage, 7, "and nothing at 4")
}

// -v means the same in both formats, also where the encoder has no such level.
func TestVerbosityHoldsInBothFormats(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		for verbosity, most := range map[string]int{"0": 0, "2": 2, "4": 4, "1000": 4} {
			said := strings.Join(logOf(t, "--logging-format="+format, "-v="+verbosity), "\n")
			for level, message := range map[int]string{0: "Evicted", 2: "at 2", 4: "at 4"} {
				want := 2
				switch {
				case level > most:
					want = 0
				case level == 0:
					want = 1
				}
				require.Equal(t, want, strings.Count(said, message), "%s -v=%s: %s", format, verbosity, said)
			}
			require.Contains(t, said, "no more paper")
		}
	}
}
