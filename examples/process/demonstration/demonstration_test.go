package demonstration_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// What does not hold is named, so much of it as anybody reads.
func TestClaimNamesItsExceptions(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, demonstration.PrintClaims(&out, []demonstration.Claim{{Says: "no pod left early"}}))
	require.Equal(t, "\nWhat that proves:\nok    no pod left early\n", out.String())

	out.Reset()
	var names []string
	for range demonstration.MostNamed + 3 {
		names = append(names, "node-a00-pod")
	}
	var claims demonstration.Claims
	claims.Add(names, "no pod left %s", "early")
	claims.Add(nil, "all is well")
	require.ErrorIs(t, demonstration.PrintClaims(&out, claims), demonstration.ErrNotHeld)
	require.Contains(t, out.String(), "\nFAIL  no pod left early\n      except for 23: node-a00-pod node")
	require.Equal(t, demonstration.MostNamed, strings.Count(out.String(), "node-a00-pod"))
	require.True(t, strings.HasSuffix(out.String(), "\n      and 3 more\nok    all is well\n"), out.String())
	require.LessOrEqual(t, demonstration.Width(out.String()), demonstration.Columns)
}

// What a judge has found is an exception of one claim.
func TestFindingsAreTakenOnce(t *testing.T) {
	found := demonstration.Findings[string]{
		{Rule: "early", Text: "pod a"}, {Rule: "early", Text: "pod b"},
		{Rule: "late", Text: "pod b"}, {Rule: "lost", Text: "it"},
	}
	require.Equal(t, []string{"pod b;", "pod b;"}, found.Take("b", "early", "late"))
	require.Equal(t, []string{"pod a;"}, found.Take("", "early", "late"))
	require.Empty(t, found.Take("", "early", "late"))
	require.Equal(t, []string{"lost: it;"}, found.Rest())
}

func TestAnExceptionUnlessItHolds(t *testing.T) {
	require.Empty(t, demonstration.Unless(true, "%d pods are left;", 3))
	require.Equal(t, []string{"3 pods are left;"}, demonstration.Unless(false, "%d pods are left;", 3))
}

// A summary that claims nothing proves nothing.
func TestNoClaimDoesNotHold(t *testing.T) {
	require.ErrorIs(t, demonstration.PrintClaims(&bytes.Buffer{}, nil), demonstration.ErrNotHeld)
}

func TestFlagsThatWereGivenAreKept(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	given, other := flags.Int("given", 1, ""), flags.Int("other", 1, "")
	require.NoError(t, flags.Parse([]string{"--given=2"}))
	require.NoError(t, demonstration.SetDefaults(flags, map[string]string{"given": "3", "other": "3"}))
	require.Equal(t, 2, *given)
	require.Equal(t, 3, *other)
	require.ErrorContains(t, demonstration.SetDefaults(flags, map[string]string{"none": "3"}),
		"set up the demonstration")
}

func TestTheMostFrequentCallsComeFirst(t *testing.T) {
	var out bytes.Buffer
	demonstration.PrintCalls(&out, map[string]int{"create pods": 9, "patch nodes/status": 10})
	require.Equal(t, "calls of the controller, except lists and watches:\n    10 patch nodes/status\n     9 create pods\n",
		out.String())
}

// sinceNow returns the time that has passed.
func sinceNow() func() time.Duration {
	started := time.Now()
	return func() time.Duration { return time.Since(started) }
}

// Elsewhere than on a terminal there is a line for each change, no more often
// than it should be, and no escape sequence.
func TestLinesOnlyForChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		screen := demonstration.NewScreen(&out, sinceNow())
		show := func(lines ...string) {
			screen.Show(func(tell demonstration.Tell) {
				for _, line := range lines {
					tell(line[:1], line, "■")
				}
			}, "■ a cell")
		}
		screen.Say("it begins")
		show("a is up")
		time.Sleep(1500 * time.Millisecond)
		show("a is up", "b is up")
		screen.Beat = time.Second
		show("a is down")
		time.Sleep(900 * time.Millisecond)
		screen.Say("it goes on")
		time.Sleep(900 * time.Millisecond)
		show("a is down")
		time.Sleep(100 * time.Millisecond)
		show("a is down")
		require.Equal(t, "  0.0s  it begins\n  0.0s  a is up\n  1.5s  b is up\n"+
			"  2.4s  it goes on\n  3.4s  a is down\n", out.String())
	})
}

// On a terminal the second picture goes over the first, whose lines it counts.
func TestPictureIsRedrawnInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		screen := demonstration.NewPicture(&out, sinceNow())
		cells := []string{demonstration.Green.Paint("■"), "■"}
		draw := func() {
			screen.Show(func(tell demonstration.Tell) { tell("a", "a is up", cells...) }, "■ a cell")
		}
		screen.Say("it begins")
		require.Empty(t, out.String())
		draw()
		require.Equal(t, "  0.0s\na is up\n        \x1b[32m■\x1b[0m■\n        ■ a cell\n  0.0s  it begins\n", out.String())
		require.Equal(t, len("  0.0s  it begins"), demonstration.Width(out.String()))
		require.Equal(t, 2, demonstration.Width("\x1b[32m■\x1b[0m■\n"))
		for range 20 {
			screen.Say("it goes on")
		}
		out.Reset()
		draw()
		require.True(t, strings.HasPrefix(out.String(), "\x1b[5A\x1b[J  0.0s\na is up\n"), out.String())
		require.Equal(t, 4+6, strings.Count(out.String(), "\n"))

		// Without cells and a legend it is the lines, each time.
		out.Reset()
		for range 2 {
			screen.Show(func(tell demonstration.Tell) { tell("a", "a is up") }, "")
		}
		require.Equal(t, 1, strings.Count(out.String(), "\x1b[8A\x1b[J  0.0s\na is up\n  0.0s  it goes on\n"), out.String())
	})
}
