package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/zone"
)

// What does not hold is named, so much of it as anybody reads.
func TestClaimNamesItsExceptions(t *testing.T) {
	var out bytes.Buffer
	require.True(t, claim{says: "no pod left early"}.print(&out))
	require.Equal(t, "ok    no pod left early\n", out.String())

	out.Reset()
	var names []string
	for range mostNamed + 3 {
		names = append(names, "node-a00-pod")
	}
	require.False(t, claim{"no pod left early", names}.print(&out))
	require.True(t, strings.HasPrefix(out.String(), "FAIL  no pod left early, but for 23:\n      node-a00-pod node"))
	require.Equal(t, mostNamed, strings.Count(out.String(), "node-a00-pod"))
	require.True(t, strings.HasSuffix(out.String(), "\n      and 3 more\n"))
	requireFits(t, out.String())
}

func TestVerdictFailsWithAnException(t *testing.T) {
	held := func() *verdict { return &verdict{mustLeave: 1, left: 1} }
	require.NoError(t, held().print(&bytes.Buffer{}, nil))
	for name, breaks := range map[string]func(*verdict){
		"missing":    func(v *verdict) { v.missing = []string{"pod"} },
		"wrong":      func(v *verdict) { v.wrong = []string{"pod"} },
		"early":      func(v *verdict) { v.early = []string{"pod"} },
		"alive":      func(v *verdict) { v.alive = []string{"node"} },
		"ready":      func(v *verdict) { v.ready = []string{"node"} },
		"while down": func(v *verdict) { v.whileDown = []string{"node"} },
		"rate":       func(v *verdict) { v.zones = map[string]*zoneVerdict{"a": {peak: 1.01}} },
		"no pod":     func(v *verdict) { v.mustLeave = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			v := held()
			breaks(v)
			require.ErrorIs(t, v.print(&bytes.Buffer{}, nil), errNotHeld)
		})
	}
}

var colors = regexp.MustCompile("\x1b\\[[0-9]*[a-zA-Z]")

// requireFits fails if a line is wider than a terminal.
func requireFits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(colors.ReplaceAllString(text, "")) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), columns, "%s", line)
	}
}

func TestPictureFitsATerminal(t *testing.T) {
	var out bytes.Buffer
	w := &world{started: time.Now().Add(-1000 * time.Second)}
	for _, zone := range []string{"a", "b", "c"} {
		w.nodes = append(w.nodes, slices.Repeat([]string{"node-" + zone}, demoNodesPerZone)...)
	}
	v := &view{out: &out, live: true, witness: newWitness(nil), world: w}
	for _, o := range script(w) {
		v.say(o, true)
		v.say(o, false)
	}
	v.picture([]zone.Status{
		{Zone: "r:\x00:a", State: zone.PartialDisruption, Rate: 1000},
	}, zone.PhaseRecovering, 1_000_000)
	require.Contains(t, out.String(), "PartialDisruption")
	requireFits(t, out.String())
}
