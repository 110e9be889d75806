package main

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/zone"
)

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
			require.ErrorIs(t, v.print(&bytes.Buffer{}, nil), demonstration.ErrNotHeld)
		})
	}
}

func TestPictureFitsATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := &world{}
		for _, zone := range []string{"a", "b", "c"} {
			w.nodes = append(w.nodes, slices.Repeat([]string{"node-" + zone}, demoNodesPerZone)...)
		}
		v := &view{screen: demonstration.NewPicture(&out), witness: newWitness(nil)}
		time.Sleep(1000 * time.Second)
		for _, o := range script(w) {
			v.say(o, true)
			v.say(o, false)
		}
		v.picture([]zone.Status{
			{Zone: "r:\x00:a", State: zone.PartialDisruption, Rate: 1000},
		}, zone.PhaseRecovering, 1_000_000)
		require.Contains(t, out.String(), "PartialDisruption")
		require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
	})
}
