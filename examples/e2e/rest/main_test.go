package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// measured returns figures in which ours uses 2.2 s in each part, the baseline
// 2 s.
func measured(readings int) *figures {
	f := &figures{}
	for i := range readings {
		f.add([subjects]reading{
			{used: time.Minute + time.Duration(i)*2200*time.Millisecond},
			{used: time.Duration(i) * 2 * time.Second},
		}, time.Duration(i)*10*time.Second, int64(i)*5000)
	}
	return f
}

func written(t *testing.T, f *figures) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, f.write(&out))
	return out.String()
}

func TestFigures(t *testing.T) {
	f := measured(parts + 1)
	text := written(t, f)
	require.Contains(t, text, "500 heartbeats a second")
	require.Contains(t, text, "| part 5 of 5 | 2.20 s | 2.00 s | 1.100 |\n")
	require.Contains(t, text, "| all 50 s | 11.00 s | 10.00 s | 1.100 |\n")
	require.NoError(t, f.problem())
	ratio, known := f.ratio()
	require.True(t, known)
	require.InDelta(t, 1.1, ratio, 1e-9, "only what was used meanwhile counts")
	require.ErrorIs(t, options{most: 1.05}.judge(f), errTooMuch)
	require.NoError(t, options{most: 1.15}.judge(f))
}

func TestAProgramThatEndsLeavesTheFiguresOfTheOther(t *testing.T) {
	f := measured(3)
	for i := range 3 {
		more := f.add([subjects]reading{
			{err: wait.ErrEnded}, {used: time.Duration(3+i) * 2 * time.Second},
		}, 50*time.Second, 25_000)
		require.True(t, more)
	}
	require.Equal(t, `500 heartbeats a second were stored

| CPU time | examples/nodelifecycle | the same informers alone | ratio |
| --- | --- | --- | --- |
| part 1 of 5 | 2.20 s | 2.00 s | 1.100 |
| part 2 of 5 | 2.20 s | 2.00 s | 1.100 |
| part 3 of 5 | not measured [1] | 2.00 s | – |
| part 4 of 5 | not measured [1] | 2.00 s | – |
| part 5 of 5 | not measured [1] | 2.00 s | – |
| the first 2 of 5 | 4.40 s | 4.00 s | 1.100 |

[1] the subject has ended by itself
`, written(t, f))
	require.ErrorIs(t, f.problem(), sidebyside.ErrIncomplete)
	require.ErrorIs(t, f.problem(), wait.ErrEnded)
	require.ErrorIs(t, options{most: 1.05}.judge(f), errTooMuch, "what is known is judged")

	require.False(t, f.add([subjects]reading{{err: io.EOF}, {err: io.EOF}}, time.Minute, 0), "none is left")
}

func TestAnInterruptionLeavesTheFiguresOfTheTimeBefore(t *testing.T) {
	f := measured(2)
	f.err = context.Canceled
	text := written(t, f)
	require.Contains(t, text, `
| part 1 of 5 | 2.20 s | 2.00 s | 1.100 |
| part 2 of 5 | not measured [1] | not measured [1] | – |
`)
	require.Contains(t, text, "| the first 1 of 5 | 2.20 s | 2.00 s | 1.100 |\n\n[1] context canceled\n")
	require.ErrorIs(t, f.problem(), sidebyside.ErrIncomplete)

	atOnce := measured(1)
	require.Contains(t, written(t, atOnce), "| part 5 of 5 | not measured [1] | not measured [1] | – |\n\n[1]")
	_, known := atOnce.ratio()
	require.False(t, known)
	require.NoError(t, options{most: 1.05}.judge(atOnce))
	require.ErrorIs(t, atOnce.problem(), sidebyside.ErrIncomplete)
}

func TestOptions(t *testing.T) {
	o, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 5000, o.nodes)
	for _, args := range [][]string{
		{"more"}, {"--nodes=0"}, {"--pods=-1"}, {"--beat=0s"}, {"--settle=-1s"}, {"--for=1s"},
	} {
		_, err := parse(args, io.Discard)
		require.Error(t, err, args)
	}
}

func TestTheProgramsKnowTheirFlags(t *testing.T) {
	flags := pflag.NewFlagSet("baseline", pflag.ContinueOnError)
	new(commandline.Process).AddFlags(flags)
	new(commandline.Replica).AddFlags(flags)
	require.NoError(t, flags.Parse(arguments("kubeconfig", "baseline")))
}
