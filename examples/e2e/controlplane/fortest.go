package controlplane

import (
	"testing"
	"time"
)

// ForTest starts a control plane for a test and stops it when the test ends. It
// ends the test when it cannot. Data is in the test's temporary folder unless
// Config.Dir says otherwise, and progress in the test's log unless
// Config.Build.Progress says otherwise. When the test fails, the ends of the
// logs go into its log.
func ForTest(t testing.TB, config Config) *ControlPlane {
	t.Helper()
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	if config.Build.Progress == nil {
		config.Build.Progress = t.Output()
	}
	begun := time.Now()
	cp, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("control plane ready after %s", time.Since(begun).Round(time.Millisecond))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(cp.currentEtcd().LogTail(tailLines) + "\n" + cp.currentAPIServer().LogTail(tailLines))
		}
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cp
}
