package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

var (
	// ErrOursFailed means that ours has a fault, or could not be judged.
	ErrOursFailed = errors.New("ours has failed")
	// ErrIncomplete means that a cell of the table has no counts.
	ErrIncomplete = errors.New("the table is incomplete")

	errNotPlayed   = errors.New("not played")
	errInterrupted = errors.New("interrupted")
)

// Ours is the name of the subject whose faults are an error.
const Ours = "ours"

// A Heading is that of a row or column. Messages have its name, the table its
// title.
type Heading struct{ Name, Title string }

// A Table has a row for each scenario and a column for each subject. A cell has
// the counts of one play, or the reason why there are none: a play that fails
// leaves the other cells alone. Its methods may be called concurrently, its
// fields are set before.
type Table[Counts interface{ Clean() bool }] struct {
	// Corner is the heading of the first column.
	Corner              string
	Scenarios, Subjects []Heading
	// Show returns counts in a few words.
	Show func(Counts) string
	// Legend says how to read the table.
	Legend string

	mu    sync.Mutex
	cells map[cell]verdict[Counts]
}

// cell has the indices of a scenario and a subject.
type cell struct{ scenario, subject int }

// verdict is the result of a play: counts, or the reason why there are none.
type verdict[Counts any] struct {
	counts Counts
	err    error
}

// Play fills the table, some cells at a time. After the end of ctx it begins no
// play, and waits for those that have begun. Errors go to progress in full.
func (t *Table[Counts]) Play(
	ctx context.Context, parallel int, progress io.Writer,
	play func(ctx context.Context, scenario, subject int) (Counts, error),
) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range t.Scenarios {
		for k := range t.Subjects {
			group.Go(func() error {
				if ctx.Err() == nil {
					t.set(cell{i, k}, t.judged(ctx, progress, cell{i, k}, play))
				}
				return nil
			})
		}
	}
	_ = group.Wait() // no play returns its error
}

// judged plays one cell, and tells the error of one that cannot be judged.
func (t *Table[Counts]) judged(
	ctx context.Context, progress io.Writer, c cell,
	play func(ctx context.Context, scenario, subject int) (Counts, error),
) verdict[Counts] {
	counts, err := play(ctx, c.scenario, c.subject)
	if err == nil {
		return verdict[Counts]{counts, nil}
	}
	fmt.Fprintf(progress, "%s, %s: not judged: %v\n",
		t.Scenarios[c.scenario].Name, t.Subjects[c.subject].Name, err)
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return verdict[Counts]{counts, err}
}

func (t *Table[Counts]) set(at cell, v verdict[Counts]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cells == nil {
		t.cells = map[cell]verdict[Counts]{}
	}
	t.cells[at] = v
}

// at returns the verdict of a cell. One without a play has an error.
func (t *Table[Counts]) at(scenario, subject int) verdict[Counts] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, played := t.cells[cell{scenario, subject}]; played {
		return v
	}
	return verdict[Counts]{err: errNotPlayed}
}

// Write writes the table in Markdown, the reasons of cells without counts, and
// the legend.
func (t *Table[Counts]) Write(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "| %s |", t.Corner)
	for _, subject := range t.Subjects {
		fmt.Fprintf(&text, " %s |", subject.Title)
	}
	text.WriteString("\n|" + strings.Repeat(" --- |", len(t.Subjects)+1) + "\n")
	var notes Notes
	for i, scenario := range t.Scenarios {
		fmt.Fprintf(&text, "| %s |", scenario.Title)
		for k := range t.Subjects {
			v := t.at(i, k)
			if v.err != nil {
				fmt.Fprintf(&text, " %s |", show(v.err, &notes))
				continue
			}
			fmt.Fprintf(&text, " %s |", t.Show(v.counts))
		}
		text.WriteString("\n")
	}
	text.WriteString(notes.String() + "\n" + t.Legend + "\n")
	_, err := io.WriteString(out, text.String())
	return err
}

// Err returns what the exit code is to say: ErrOursFailed, ErrIncomplete, both,
// or nil. Faults of other subjects are none.
func (t *Table[Counts]) Err() error {
	var failed, missing []string
	for i, scenario := range t.Scenarios {
		for k, subject := range t.Subjects {
			v := t.at(i, k)
			if v.err != nil {
				missing = append(missing, scenario.Name+" of "+subject.Name)
			}
			started := !errors.Is(v.err, errNotPlayed) && !errors.Is(v.err, errInterrupted)
			if subject.Name == Ours && started && (v.err != nil || !v.counts.Clean()) {
				failed = append(failed, scenario.Name)
			}
		}
	}
	return errors.Join(named(ErrOursFailed, failed), named(ErrIncomplete, missing))
}

func named(err error, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", err, strings.Join(names, ", "))
}

// show returns what a cell without counts says.
func show(err error, notes *Notes) string {
	if errors.Is(err, errNotPlayed) || errors.Is(err, errInterrupted) {
		return err.Error()
	}
	return "not judged " + notes.Add(err)
}

// Notes are the reasons below a table for cells without values, each once.
type Notes []string

// Add returns the mark of a reason. Of an error that the log of a process
// follows it keeps the first line.
func (n *Notes) Add(err error) string {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	at := slices.Index(*n, reason)
	if at < 0 {
		at = len(*n)
		*n = append(*n, reason)
	}
	return fmt.Sprintf("[%d]", at+1)
}

// String returns a paragraph for each reason, after an empty line.
func (n Notes) String() string {
	var text strings.Builder
	for i, reason := range n {
		fmt.Fprintf(&text, "\n[%d] %s\n", i+1, reason)
	}
	return text.String()
}

// Thousands writes a number with commas.
func Thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}
