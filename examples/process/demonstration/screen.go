package demonstration

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Columns is how wide a line may be.
const Columns = 80

// mostTold lines about what has happened stay below a picture.
const mostTold = 6

// A Tell takes a line about a thing, and the cells that show it on a terminal,
// for example one for each node.
type Tell func(about, line string, cells ...string)

// A Screen shows a demonstration. On a terminal it redraws in place how things
// are, and what was said below it. Elsewhere it writes a line for all that is
// said and for each change. What is written to it follows. It is not safe for
// concurrent use.
type Screen struct {
	io.Writer

	// Beat is how long [Screen.Show] writes no lines after it has, and after
	// something was said.
	Beat time.Duration

	live    bool
	elapsed func() time.Duration

	told  []string // last first
	drawn int      // lines to go back
	// last is what was written last about each thing, and written when that was.
	last    map[string]string
	written time.Duration
}

// NewScreen returns a Screen. Elapsed is the time that it shows.
func NewScreen(out io.Writer, elapsed func() time.Duration) *Screen {
	file, ok := out.(*os.File)
	return newScreen(out, elapsed, ok && term.IsTerminal(int(file.Fd())))
}

// NewPicture returns a Screen that draws as on a terminal, whatever out is.
func NewPicture(out io.Writer, elapsed func() time.Duration) *Screen {
	return newScreen(out, elapsed, true)
}

func newScreen(out io.Writer, elapsed func() time.Duration, live bool) *Screen {
	return &Screen{Writer: out, live: live, elapsed: elapsed, last: map[string]string{}}
}

// stamped returns a text after the time.
func (s *Screen) stamped(text string) string {
	return fmt.Sprintf("%5.1fs%s", s.elapsed().Seconds(), text)
}

// Say shows what has happened.
func (s *Screen) Say(text string) {
	line := s.stamped("  " + text)
	s.told = append([]string{line}, s.told[:min(len(s.told), mostTold-1)]...)
	if !s.live {
		fmt.Fprintln(s, line)
		s.written = s.elapsed()
	}
}

// Show shows how things are. Lines tells a line about each thing. Without a
// terminal those are written that differ from the last one about their thing.
func (s *Screen) Show(lines func(Tell), legend string) {
	switch {
	case s.live:
		s.draw(lines, legend)
	case s.elapsed()-s.written >= s.Beat:
		s.written = s.elapsed()
		lines(s.change)
	}
}

// change writes a line about a thing if it differs from the last one about it.
func (s *Screen) change(about, line string, _ ...string) {
	if s.last[about] == line {
		return
	}
	s.last[about] = line
	fmt.Fprintln(s, s.stamped("  "+line))
}

// draw replaces the picture.
func (s *Screen) draw(lines func(Tell), legend string) {
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", s.drawn)
	}
	fmt.Fprintln(&b, s.stamped(""))
	lines(func(_, line string, cells ...string) {
		fmt.Fprintln(&b, line)
		if len(cells) > 0 {
			fmt.Fprintf(&b, "%8s%s\n", "", strings.Join(cells, ""))
		}
	})
	if legend != "" {
		fmt.Fprintf(&b, "%8s%s\n", "", legend)
	}
	for _, line := range s.told {
		fmt.Fprintln(&b, line)
	}
	s.drawn = strings.Count(b.String(), "\n")
	fmt.Fprint(s, b.String())
}

// A Color is one of a terminal's.
type Color string

// Colors of what is shown. Each demonstration says what they mean.
const (
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
	Blue   Color = "\x1b[34m"
)

// Paint returns a text in the color.
func (c Color) Paint(text string) string { return string(c) + text + "\x1b[0m" }

var escapes = regexp.MustCompile("\x1b\\[[0-9]*[a-zA-Z]")

// Width returns how many columns the widest line of a text takes. Escape
// sequences, for example colors, take none.
func Width(text string) int {
	widest := 0
	for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return widest
}
