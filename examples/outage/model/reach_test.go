package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What was asked of all machines may be kept while CutOffs stays the same.
func TestCutOffsChangeWithWhatMachinesReach(t *testing.T) {
	w, _ := world(t)
	reaches := func() [2]bool { return [2]bool{w.Machine("a").Reaches(), w.Machine("b").Reaches()} }
	before, count := reaches(), w.CutOffs()
	changed := func(want bool) {
		t.Helper()
		require.Equal(t, want, reaches() != before)
		if want {
			require.NotEqual(t, count, w.CutOffs())
		}
		before, count = reaches(), w.CutOffs()
	}
	restore := w.Machine("a").Silence()
	changed(true)
	again := w.Machine("a").Silence()
	changed(false)
	restore()
	changed(false)
	again()
	changed(true)
	up := w.Down(true, false)
	changed(false)
	up()
	changed(false)
	up = w.Down(false, true)
	changed(true)
	up()
	changed(true)
	w.Machine("a").Surface()
	w.Machine("a").Fail()
	run(w, w.Elapsed()+time.Minute)
	require.Equal(t, count, w.CutOffs(), "nothing was cut off or restored")
}
