package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told returns a timeline and what it has told up to now.
func told() (*timeline, func() []string) {
	var lines []string
	t := newTimeline(func(line Line) { lines = append(lines, line.At.Clock()+" "+line.Text) })
	return &t, func() []string { return lines }
}

func TestWhatHappensToNodeAfterNodeIsOneLine(t *testing.T) {
	line, lines := told()
	for i := range 20 {
		line.happened(time.Duration(i)*10*time.Second, happens{Tainted, "a"}, fmt.Sprintf("a-%d", 19-i), shortestPause)
	}
	line.advance(190*time.Second + shortestPause)
	require.Empty(t, lines(), "it may go on")
	line.advance(190*time.Second + shortestPause + 1)
	require.Equal(t, []string{"0:00:00 20 nodes tainted NoExecute over 3m10s (a-0 .. a-19)"}, lines())
}

func TestZonesAndKindsHaveLinesOfTheirOwn(t *testing.T) {
	line, lines := told()
	line.happened(0, happens{Silent, "a"}, "a-0", shortestPause)
	line.happened(0, happens{Silent, "b"}, "b-0", shortestPause)
	line.happened(0, happens{Declared, "a"}, "a-0", shortestPause)
	line.end()
	require.Equal(t, []string{"0:00:00 1 node silent (a-0)", "0:00:00 1 node silent (b-0)",
		"0:00:00 1 node declared Unknown (a-0)"}, lines())
}

func TestLinesAreToldInTheOrderInWhichTheyBegan(t *testing.T) {
	line, lines := told()
	line.add(0, Line{Text: "first"})
	line.happened(time.Second, happens{Tainted, "a"}, "a-0", shortestPause)
	line.add(2*time.Second, Line{Text: "meanwhile"})
	line.happened(3*time.Second, happens{PodsEvicted, "a"}, "a-0", shortestPause)
	line.advance(4 * time.Second)
	require.Equal(t, []string{"0:00:00 first"}, lines(), "the next may go on, and what is after it waits")
	line.happened(15*time.Second, happens{PodsEvicted, "a"}, "a-0", shortestPause)
	line.advance(17 * time.Second)
	require.Equal(t, []string{"0:00:00 first", "0:00:01 1 node tainted NoExecute (a-0)", "0:00:02 meanwhile"}, lines())
	line.end()
	require.Equal(t, "0:00:03 2 pods evicted from 1 node over 12s (a-0)", lines()[3])
	require.Len(t, line.told, 4)
}

// Also when a timer is late: what is added after the end belongs to a new line.
func TestAPauseEndsALine(t *testing.T) {
	line, lines := told()
	line.happened(0, happens{Tainted, "a"}, "a-0", shortestPause)
	line.happened(time.Minute, happens{Tainted, "a"}, "a-1", shortestPause)
	line.end()
	require.Equal(t, []string{"0:00:00 1 node tainted NoExecute (a-0)", "0:01:00 1 node tainted NoExecute (a-1)"}, lines())
}

func TestALineEndsAfterTenMinutes(t *testing.T) {
	line, lines := told()
	for at := time.Duration(0); at <= 25*time.Minute; at += 10 * time.Second {
		line.happened(at, happens{Tainted, "a"}, fmt.Sprintf("a-%d", at/(10*time.Second)), shortestPause)
	}
	line.end()
	require.Equal(t, []string{
		"0:00:00 61 nodes tainted NoExecute over 10m0s (a-0 .. a-60)",
		"0:10:10 61 nodes tainted NoExecute over 10m0s (a-61 .. a-121)",
		"0:20:20 29 nodes tainted NoExecute over 4m40s (a-122 .. a-150)",
	}, lines())
}

// Ten nodes that fall silent each two minutes, for an hour.
func TestWhatHappensAgainAndAgainFillsNoPages(t *testing.T) {
	line, lines := told()
	for at := time.Duration(0); at < time.Hour; at += 2 * time.Minute {
		for i := range 10 {
			line.happened(at+time.Duration(i)*time.Second, happens{Silent, "a"}, fmt.Sprintf("a-%d", i), shortestPause)
		}
		line.advance(at + 10*time.Second)
	}
	line.end()
	require.Less(t, len(lines()), 12)
	require.Equal(t, "0:00:00 10 nodes silent over 9s (a-0 .. a-9)", lines()[0], "what is new is told exactly")
	require.Equal(t, "0:46:04 10 nodes silent 51 times over 10m0s (a-0 .. a-9)", lines()[len(lines())-2])

	later := 3 * time.Hour
	line.happened(later, happens{Silent, "a"}, "a-0", shortestPause)
	line.advance(later + shortestPause + 1)
	require.Equal(t, "3:00:00 1 node silent (a-0)", lines()[len(lines())-1], "after a long time it is new again")
}

func TestThePauseFollowsTheRate(t *testing.T) {
	for rate, want := range map[float64]time.Duration{
		0: shortestPause, 1: shortestPause, 0.1: shortestPause, 0.01: 150 * time.Second, 0.0001: longestPause,
	} {
		require.Equal(t, want, pauseAt(rate), rate)
	}
}

func TestNamesAreInTheOrderOfTheirNumbersAndAbbreviated(t *testing.T) {
	for want, names := range map[string][]string{
		"":                              {},
		"a-0":                           {"a-0"},
		"a-0, a-1":                      {"a-1", "a-0"},
		"a-9 .. a-11":                   {"a-10", "a-11", "a-9"},
		"a-1, a-3 .. a-5, b-6, b-8":     {"b-8", "a-3", "a-4", "a-1", "a-5", "b-6"},
		"a-0, a-2, a-4, a-6 and 3 more": {"a-0", "a-2", "a-4", "a-6", "a-8", "a-9", "a-10"},
		"node, other":                   {"other", "node"},
		"z1-0, z2-0":                    {"z2-0", "z1-0"},
	} {
		require.Equal(t, want, abbreviate(inOrder(names)))
	}
}

func TestSecondsAreShown(t *testing.T) {
	require.Equal(t, "0:05:41", SecondsOf(5*time.Minute+41*time.Second+999*time.Millisecond).Clock())
	require.Equal(t, "26:00:01", SecondsOf(26*time.Hour+time.Second).Clock())
	for want, d := range map[string]time.Duration{
		"300ms": 312 * time.Millisecond, "9.9s": 9949 * time.Millisecond, "10s": 10400 * time.Millisecond,
		"15m42s": 942022 * time.Millisecond, "-18s": -18007 * time.Millisecond, "0s": 0,
	} {
		require.Equal(t, want, SecondsOf(d).String())
	}
	require.InDelta(t, 1.235, float64(SecondsOf(1234567*time.Microsecond)), 1e-9, "to the millisecond")
}
