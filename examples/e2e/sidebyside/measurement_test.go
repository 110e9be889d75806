package sidebyside

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// weather is a scenario.
func weather(name, title string) Scenario {
	return Scenario{Name: name, Title: func() string { return title }}
}

func nothing(context.Context, string, io.Writer) (Program, error) { return Program{}, nil }

// rain is a measurement of weathers.
func rain() *Measurement {
	return &Measurement{
		Name: "rain", Repetitions: 1, Ratios: true,
		Scenarios: []Scenario{weather("a", "a drizzle"), weather("b", "a shower")},
		Subjects: []Subject{
			{Name: Ours, Title: "umbrella", Build: nothing}, {Name: "upstream", Title: "newspaper", Build: nothing},
		},
		Legend: func() string { return "Drops are counted below.\n" },
	}
}

// counted is a record. More than ten drops make holes.
func counted(drops float64) *Record {
	r := &Record{}
	r.Add("drops", Seconds, drops)
	r.Add("holes", Count, max(0, drops-10)).AtMost(0)
	r.Add("depth", Format("%.1f"), 1)
	return r
}

var errWind = fmt.Errorf("%w: the wind has turned it", ErrDisturbed)

// played returns the results of plays that give what outcome does.
func played(
	t *testing.T, m *Measurement, outcome func(name, subject string, n int) (*Record, error),
) *Results {
	t.Helper()
	return playedUntil(t.Context(), t, m, outcome)
}

func playedUntil(
	ctx context.Context, t *testing.T, m *Measurement,
	outcome func(name, subject string, n int) (*Record, error),
) *Results {
	t.Helper()
	c, err := m.Parse(nil, io.Discard)
	require.NoError(t, err)
	r := m.Results(c, nil)
	for _, column := range r.Columns {
		for n := range c.Repetitions {
			column.play(ctx, func(string, ...any) {}, func() (*Record, error) {
				return outcome(column.Scenario.Name, column.Subject.Name, n)
			})
		}
	}
	return r
}

func written(t *testing.T, r *Results) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, r.Write(&out))
	return out.String()
}

func TestFlagsChooseScenariosAndSubjects(t *testing.T) {
	m := rain()
	c, err := m.Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "a, b", names(c.Scenarios, scenarioName))
	require.Len(t, c.Subjects, 2)
	require.Equal(t, []int{1, 1}, []int{c.Repetitions, c.Parallel})

	m.Scenarios[1].Named = true
	c, err = m.Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "a", names(c.Scenarios, scenarioName), "the other is played when it is named")

	m.Parallel = 2
	c, err = m.Parse([]string{
		"--scenario=b,a", "--subject=upstream", "--repetitions=3", "--parallel=4", "--dir=here", "--program=there",
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "a, b", names(c.Scenarios, scenarioName), "in the order of the table")
	require.Equal(t, "upstream", names(c.Subjects, subjectName))
	require.Equal(t, []int{3, 4}, []int{c.Repetitions, c.Parallel})
	require.Equal(t, []string{"here", "there"}, []string{c.Dir, c.Program})

	for want, args := range map[string][]string{
		`--scenario: there is no "flood", only a, b`:           {"--scenario=flood"},
		`--subject: there is no "theirs", only ours, upstream`: {"--subject=theirs"},
		"--parallel is 0, want at least 1":                     {"--parallel=0"},
		"--repetitions is 0, want at least 1":                  {"--repetitions=0"},
		`takes no arguments, got ["now"]`:                      {"now"},
	} {
		_, err := m.Parse(args, io.Discard)
		require.EqualError(t, err, want)
	}
}

func TestAMeasurementHasFlagsAndHelpOfItsOwn(t *testing.T) {
	m := rain()
	m.Help = "Measures rain.\n"
	var inches int
	errDry := errors.New("--inches is 0")
	m.Flags = func(flags *flag.FlagSet) { flags.IntVar(&inches, "inches", 1, "how `much` it rains") }
	m.Check = func(c *Choice) error {
		c.Scenarios = c.Scenarios[:1]
		if inches == 0 {
			return errDry
		}
		return nil
	}
	c, err := m.Parse([]string{"--inches=7"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 7, inches)
	require.Len(t, c.Scenarios, 1)
	_, err = m.Parse([]string{"--inches=0"}, io.Discard)
	require.ErrorIs(t, err, errDry)

	var text strings.Builder
	_, err = m.Parse([]string{"--help"}, &text)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, want := range []string{"Measures rain.", "Exit code: 0", "-inches much", "-repetitions often"} {
		require.Contains(t, text.String(), want)
	}
	require.NotContains(t, text.String(), "-parallel", "plays that measure would disturb each other")
}

func TestExitCodes(t *testing.T) {
	require.Zero(t, ExitCode(nil))
	require.Zero(t, ExitCode(fmt.Errorf("flags: %w", flag.ErrHelp)))
	flood := []string{"--scenario=flood"}
	require.Equal(t, 2, ExitCode(rain().Run(t.Context(), flood, io.Discard, io.Discard)))
}

func TestAnInterruptionIsIncomplete(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	err := rain().Run(ctx, nil, &out, io.Discard)
	require.ErrorIs(t, err, ErrIncomplete)
	require.NotErrorIs(t, err, ErrOursFailed)
	require.Equal(t, 2, ExitCode(err))
	require.Contains(t, out.String(), "| a drizzle | umbrella | newspaper | ours to upstream's |\n")
	require.Contains(t, out.String(), "- a of ours is not complete: not played\n")
}

func TestAProgramThatCannotBeBuiltIsACellAndNotTheEndOfTheTable(t *testing.T) {
	broken := errors.New("no such compiler")
	m := rain()
	m.Subjects[0].Build = func(context.Context, string, io.Writer) (Program, error) { return Program{}, broken }
	m.Subjects = m.Subjects[:1]
	var out strings.Builder
	err := m.Run(t.Context(), nil, &out, io.Discard)
	require.Contains(t, out.String(), "| repetitions | 0 |\n")
	require.Contains(t, out.String(), "\n- a of ours is not complete: no such compiler\n")
	require.ErrorIs(t, err, ErrOursFailed, "what cannot be judged is no success")
	require.ErrorIs(t, err, ErrIncomplete)
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, ExitCode(err), "the worse one")
}

// One of ours that is there already is taken as it is.
func TestOurProgramMayBeThereAlready(t *testing.T) {
	s := OurSubject("tainteviction", "--v=2")
	over, cancel := context.WithCancel(t.Context())
	cancel() // so that nothing can be built
	built, err := s.build(over, t.TempDir(), "/bin/tainteviction", io.Discard)
	require.NoError(t, err)
	require.Equal(t, Program{Path: "/bin/tainteviction", Args: []string{"--v=2"}}, built)
	for _, other := range []Subject{s, Upstream("taint-eviction-controller")} {
		_, err = other.build(over, t.TempDir(), "", io.Discard)
		require.ErrorIs(t, err, context.Canceled)
	}
}
