package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCPUTimeOfAProcess(t *testing.T) {
	used, err := parseStat("12 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 250 51 14 15 16 17 18")
	require.NoError(t, err)
	require.Equal(t, 3010*time.Millisecond, used)
	for _, stat := range []string{"", "12 (a) S 1 2", "12 (a) S 1 2 3 4 5 6 7 8 9 10 x 51 14"} {
		_, err := parseStat(stat)
		require.ErrorIs(t, err, errStat, stat)
	}
}

func TestFigures(t *testing.T) {
	f := &figures{took: 50 * time.Second, beats: 25_000}
	for i := range parts + 1 {
		f.used = append(f.used, [subjects]time.Duration{
			time.Minute + time.Duration(i)*2200*time.Millisecond, time.Duration(i) * 2 * time.Second,
		})
	}
	var out strings.Builder
	require.InDelta(t, 1.1, f.write(&out), 1e-9, "only what was used meanwhile counts")
	require.Contains(t, out.String(), "500 heartbeats a second")
	require.Contains(t, out.String(), "| all 50 s | 11.00 s | 10.00 s | 1.100 |")
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
