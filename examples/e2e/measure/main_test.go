package main

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func TestTheFirstArgumentChoosesAMeasurement(t *testing.T) {
	for _, m := range measurements {
		var text strings.Builder
		require.ErrorIs(t, run(t.Context(), []string{m.name, "--help"}, io.Discard, &text), flag.ErrHelp)
		require.Contains(t, text.String(), "go -C examples/e2e run ./measure "+m.name+" ")
		require.Contains(t, text.String(), "Exit code: 0")
		require.Contains(t, text.String(), "-repetitions often")
	}
	for _, args := range [][]string{nil, {"flood"}, {"--subject=ours"}} {
		var text strings.Builder
		err := run(t.Context(), args, io.Discard, &text)
		require.ErrorIs(t, err, errNoMeasurement)
		require.Equal(t, 2, sidebyside.ExitCode(err))
		require.Contains(t, text.String(), measurements[0].name)
	}
	require.ErrorIs(t, run(t.Context(), []string{"--help"}, io.Discard, io.Discard), flag.ErrHelp)
}
