package exhaustive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Schedule is what differs from the undisturbed run, in the order of the
// messages. It says all about a run: the same schedule gives the same run.
type Schedule []Deviation

// A Deviation happens when a message is sent. Messages are numbered from zero.
type Deviation struct {
	Kind    Kind
	Message int
}

// Kind is what a deviation does.
type Kind string

// The kinds of deviations.
const (
	// Overtaken: the message takes [overtaken] longer. What is sent meanwhile
	// overtakes it, except later events of the same watch.
	Overtaken Kind = "overtaken"
	// Late: the event takes [late] longer, and those behind it wait.
	Late Kind = "late"
	// Lost: the answer does not arrive, whatever it says. The call has taken
	// effect, or was refused.
	Lost Kind = "lost"
	// Crash: the controller's process dies when the message has been sent, and
	// another starts a second later. A call that has been sent takes effect. Those
	// that would follow in the same turn are not sent.
	Crash Kind = "crash"
)

var kinds = [...]Kind{Overtaken, Late, Lost, Crash}

// String returns the schedule as [Parse] reads it: "crash 3, late 17". That of
// the undisturbed run is empty.
func (s Schedule) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = fmt.Sprintf("%s %d", d.Kind, d.Message)
	}
	return strings.Join(parts, ", ")
}

// ErrSchedule is wrapped by what Parse returns.
var ErrSchedule = errors.New("not a schedule")

// Parse reads a schedule.
func Parse(text string) (Schedule, error) {
	var s Schedule
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		kind, number, _ := strings.Cut(strings.TrimSpace(part), " ")
		message, err := strconv.Atoi(number)
		if err != nil || message < 0 || !slices.Contains(kinds[:], Kind(kind)) {
			return nil, fmt.Errorf("%w: %q, want a kind and a message, for example %q", ErrSchedule, part,
				Deviation{Crash, 3})
		}
		d := Deviation{Kind(kind), message}
		if len(s) > 0 && d.Message <= s[len(s)-1].Message {
			return nil, fmt.Errorf("%w: message %d is not behind %d", ErrSchedule, message, s[len(s)-1].Message)
		}
		s = append(s, d)
	}
	return s, nil
}

// String returns the deviation as a schedule has it.
func (d Deviation) String() string { return fmt.Sprintf("%s %d", d.Kind, d.Message) }

func (s Schedule) count(kind Kind) (n int) {
	for _, d := range s {
		if d.Kind == kind {
			n++
		}
	}
	return n
}

// A Bound is how many deviations of each kind, and of all kinds, a schedule has
// at most.
type Bound struct{ Overtaken, Late, Lost, Crash, All int }

func (b Bound) of(kind Kind) int {
	switch kind {
	case Overtaken:
		return b.Overtaken
	case Late:
		return b.Late
	case Lost:
		return b.Lost
	case Crash:
		return b.Crash
	}
	return 0
}

// next returns the schedules with one deviation more, behind those that there
// are.
func (s Schedule) next(messages []message, bound Bound) []Schedule {
	if len(s) >= bound.All {
		return nil
	}
	from := 0
	if len(s) > 0 {
		from = s[len(s)-1].Message + 1
	}
	var all []Schedule
	for n := from; n < len(messages); n++ {
		for _, kind := range kinds {
			if messages[n].allows(kind) && s.count(kind) < bound.of(kind) {
				all = append(all, append(slices.Clone(s), Deviation{kind, n}))
			}
		}
	}
	return all
}
