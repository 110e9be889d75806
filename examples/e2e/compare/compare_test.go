package main

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

// TestBothAreCompared plays each scenario with each subject on a small cluster.
// It checks what a machine does not change, in about a minute.
func TestBothAreCompared(t *testing.T) {
	klog.SetLogger(klog.Logger{}) // the fleet logs each heartbeat that it withholds
	dir := t.TempDir()
	all := subjects()
	for i := range all {
		path, err := all[i].build(t.Context(), dir, t.Output())
		require.NoError(t, err)
		all[i].build = func(context.Context, string, io.Writer) (string, error) { return path, nil }
	}
	short := times{
		beat: time.Second, grace: 12 * time.Second, period: time.Second,
		patient: 3 * time.Second, gap: 3 * time.Second, settle: time.Second, rest: 4 * time.Second,
	}
	for _, sc := range scenarios() {
		for _, s := range all {
			t.Run(sc.name+" of "+s.name, func(t *testing.T) {
				t.Parallel()
				o := options{
					nodes: 20, pods: 60, cut: 4, repetitions: 1, times: short,
					scenarios: []scenario{sc}, subjects: []subject{s},
				}
				r := o.playAll(t.Context(), dir, t.Output())
				require.NoError(t, r.columns[0].err)
				require.NoError(t, r.problem())
				of := r.columns[0].outcomes[0]
				v := &of.verdict
				require.Equal(t, sc.dying(o), v.Dead)
				require.Equal(t, o.nodes, v.Dead+v.Living)
				if s.name == sidebyside.Ours { // problem has judged it
					require.Len(t, v.Evicted, v.Dead*o.leaving())
					require.Len(t, v.Detected, v.Dead)
				}
				require.GreaterOrEqual(t, of.calls["delete pods"], len(v.Evicted))
				require.Positive(t, of.cpu)
				require.Greater(t, of.memory, int64(10<<20))
				require.Greater(t, of.lasted, short.grace)
				last := len(of.series.dead) - 1
				require.Equal(t, v.Dead, of.series.dead[last])
				require.Equal(t, len(v.Evicted), of.series.evicted[last])
				var page bytes.Buffer
				require.NoError(t, htmlpage.Write(&page, r.page()))
				require.Contains(t, page.String(), s.title)
			})
		}
	}
}
