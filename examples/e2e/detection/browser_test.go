package detection

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/htmlpage"
	"github.com/kubelife/lifecycle/examples/process/htmlpage/browser"
)

// The page of a comparison in a browser: both subjects on the same axes, the
// table with what is wrong, and the timelines by keyboard.
func TestBrowserShowsAComparison(t *testing.T) {
	b := browser.Start(t)
	ours, upstream := played(10*time.Second), played(8*time.Second)
	ours.verdict.faults = []fault{{pod: "soon0-a-0", at: after(0.4), why: wrongEarly}}
	ours.lasted, upstream.lasted = 0, time.Second // that are two points and three
	upstream.happened["evicted"] = []int{1, 2}
	p := results(t, "cut", []*outcome{ours}, []*outcome{upstream}).Page()
	file := filepath.Join(t.TempDir(), "detection.html")
	out, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, htmlpage.Write(out, p))
	require.NoError(t, out.Close())

	b.Open(file)
	b.RequireDrawn(len(p.Plots))
	require.Equal(t, []string{"1", "1"}, browser.Value[[]string](b,
		`[...document.querySelectorAll(".wrong")].map((e) => e.textContent)`), "ours alone, in both tables")
	require.NotContains(t, browser.Value[string](b, `document.body.innerText`), "Several\n", "a paragraph flows")
	b.Focus("#plot-1")
	b.Press("End")
	require.Regexp(t, `^0:00:02\. .*, examples/nodelifecycle 2; .*, kube-controller-manager v1.37.1 2\. `, b.Readout())
	b.Press("ArrowLeft")
	require.Regexp(t, `^0:00:01\. .*, examples/nodelifecycle 2; .*, kube-controller-manager v1.37.1 1\. `, b.Readout())
	b.Focus("#timeline-0")
	b.Press("End")
	require.Equal(t, len(p.Runs[0].Lines)-1, b.Current(0))
	b.Shoot("side-by-side.png")
	require.NotEmpty(t, b.Print("side-by-side.pdf"))
	b.RequireNoFaults(file)
}
