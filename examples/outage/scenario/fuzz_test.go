package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Whatever is in a file, reading it ends without a panic and every complaint
// names the file. What is read is valid and can be written and read again.
func FuzzRead(f *testing.F) {
	shipped, err := filepath.Glob("../scenarios/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, shipped)
	for _, file := range shipped {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	for seed := range uint64(20) {
		text, err := scenario.Write(randomScenario(seed))
		require.NoError(f, err)
		f.Add(text)
	}
	for _, text := range []string{
		"", "---\n", "a: &a [*a]", "? [x]\n: y", "<<: {name: x}", "name: !!binary gg==", "name: x\n---\nname: y",
		"\xff\xfen\x00", "\t",
		settled + "- {at: 1m, silence: {zone: a, \"\": x}}", settled + "- {at: 1m, crash: }", "%TAG ! x\n---\n!a b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenario.Read("f.yaml", text)
		if err != nil {
			require.Nil(t, s)
			joined, ok := err.(interface{ Unwrap() []error })
			require.True(t, ok)
			for _, each := range joined.Unwrap() {
				var p scenario.Problem
				require.ErrorAs(t, each, &p)
				require.Equal(t, "f.yaml", p.File)
				require.Positive(t, p.Line)
				require.Positive(t, p.Column)
				require.NotEmpty(t, p.Message)
				require.True(t, strings.HasPrefix(each.Error(), "f.yaml:"), each)
			}
			return
		}
		require.NoError(t, s.Validate())
		require.NoError(t, s.Defaulted().Validate())
		again, err := scenario.Write(s)
		require.NoError(t, err)
		back, err := scenario.Read("f.yaml", again)
		require.NoError(t, err, "%s", again)
		requireSame(t, s, back, "%s", again)
	})
}

// Set must not panic on anything that is typed at it either.
func FuzzSet(f *testing.F) {
	for _, assignment := range []string{
		"node-eviction-rate=1", "duration=2h", "cluster.zones[0].nodes=3", "script[0].silence.rack=1", "a..b=c", "[=",
		"controller.flags.=",
		".=", "cluster.zones[0][0]=1", "script[0]=", "script[0].staleWatch.delay.min=1s",
	} {
		f.Add(assignment)
	}
	f.Fuzz(func(t *testing.T, assignment string) {
		s := settledScenario(t)
		if err := scenario.Set(s, assignment); err != nil {
			require.NotEmpty(t, err.Error())
			requireSame(t, settledScenario(t), s, "%q failed and has changed something", assignment)
		}
	})
}
