package virtualtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var begin = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

func TestPlansHappenInTheOrderOfTheirTimes(t *testing.T) {
	line := NewTimeline(begin)
	var order []string
	plan := func(wait time.Duration, name string) {
		line.After(wait, func() { order = append(order, name+" at "+line.Elapsed().String()) })
	}
	plan(2*time.Second, "later")
	plan(time.Second, "first")
	plan(time.Second, "second")
	plan(-time.Hour, "now")
	line.After(time.Second, func() { plan(0, "planned meanwhile") })
	assert.True(t, line.Run(3*time.Second, 100))
	assert.Equal(t, []string{"now at 0s", "first at 1s", "second at 1s", "planned meanwhile at 1s", "later at 2s"}, order)
	assert.Equal(t, begin.Add(3*time.Second), line.Now(), "time goes on to where Run ends")
}

// What an event plans for its own time happens then, after all that was planned
// for that time before it came.
func TestWhatIsPlannedForNowIsLast(t *testing.T) {
	line := NewTimeline(begin)
	var order []string
	note := func(name string) func() { return func() { order = append(order, name) } }
	line.At(time.Second, func() {
		note("first")()
		line.After(0, func() {
			note("third")()
			line.At(0, note("fifth")) // the past is now
		})
		line.After(0, note("fourth"))
		line.After(1, note("later"))
	})
	line.At(time.Second, note("second"))
	for line.Step(time.Second) {
		require.Equal(t, time.Second, line.Elapsed())
	}
	require.Equal(t, []string{"first", "second", "third", "fourth", "fifth"}, order)
	require.True(t, line.Step(time.Minute))
	require.Equal(t, "later", order[5])

	line.After(0, note("now"))
	require.False(t, line.Step(0), "it is later than that")
	require.True(t, line.Step(line.Elapsed()))
	require.Equal(t, "now", order[6])
}

func TestWhatIsLaterThanARunWaitsForTheNext(t *testing.T) {
	line := NewTimeline(begin)
	happened := 0
	line.After(time.Second, func() { happened++ })
	line.After(time.Second+1, func() { happened++ })
	assert.True(t, line.Run(time.Second, 100))
	assert.Equal(t, 1, happened, "a plan for the last moment happens")
	assert.True(t, line.Run(2*time.Second, 100))
	assert.Equal(t, 2, happened)
}

func TestARunThatNeverRestsEnds(t *testing.T) {
	line := NewTimeline(begin)
	happened := 0
	var again func()
	again = func() {
		happened++
		line.After(0, again)
	}
	again()
	assert.False(t, line.Run(time.Second, 50))
	assert.Equal(t, 51, happened)
	assert.Zero(t, line.Elapsed())
}

func TestAnAlarmWakesOnceAtItsEarliestTime(t *testing.T) {
	line := NewTimeline(begin)
	var alarm Alarm
	var woken []time.Duration
	wake := func() { woken = append(woken, line.Elapsed()) }
	alarm.Set(line, begin.Add(5*time.Second), wake)
	alarm.Set(line, begin.Add(9*time.Second), wake)
	alarm.Set(line, begin.Add(5*time.Second), wake)
	line.Run(4*time.Second, 100)
	assert.Empty(t, woken)
	line.Run(20*time.Second, 100)
	assert.Equal(t, []time.Duration{5 * time.Second}, woken, "a later time is not waited for besides")

	alarm.Set(line, begin.Add(30*time.Second), wake)
	alarm.Set(line, begin.Add(25*time.Second), wake)
	line.Run(26*time.Second, 100)
	assert.Equal(t, []time.Duration{5 * time.Second, 25 * time.Second}, woken, "an earlier time counts")
}

// Otherwise a process that is promised work for now and gets none would hold
// the time.
func TestAnAlarmForATimeThatIsOverComesAMillisecondLater(t *testing.T) {
	line := NewTimeline(begin)
	var alarm Alarm
	wakes := 0
	var wake func()
	wake = func() {
		wakes++
		alarm.Set(line, begin, wake)
	}
	wake()
	assert.True(t, line.Run(10*time.Millisecond, 100))
	assert.Equal(t, 11, wakes)
}
