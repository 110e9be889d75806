package blast

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/process/evicting"
)

const (
	// unknown is what a table shows of a run that there was not, none where there
	// is no such thing.
	unknown = "?"
	none    = "-"
	// mostWorkloads is how many of the workloads that a loss takes are named.
	mostWorkloads = 5
)

// Write writes the report for people.
func (r *Report) Write(out io.Writer) error {
	var b strings.Builder
	b.WriteString(r.setting() + "\n" + r.reading() + "\n")
	if r.Done < r.Of {
		b.WriteString(r.partial() + "\n")
	}
	b.WriteString("\n")
	if err := report.WriteTable(&b, r.rows(r.columns(), false)); err != nil {
		return err
	}
	b.WriteString("\nWith other settings, where they make a difference:\n")
	if err := report.WriteTable(&b, r.rows(r.columns(), true)); err != nil {
		return err
	}
	for _, list := range []*list{r.workloads(), r.untainted(), r.interrupted()} {
		list.write(&b)
	}
	if r.cutShort() {
		b.WriteString("\n" + r.tooLong() + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// tooLong says what + means of runs that were as long as they may be, and how
// long they would have to be.
func (r *Report) tooLong() string {
	text := "+ So far: the run was as long as it may be (--longest), and more may come."
	if wanted := r.wanted(); wanted > r.longest {
		text += fmt.Sprintf(" It takes about %s.", short(wanted))
	}
	return text
}

// wanted returns how long the runs are likely to be that were cut short, in
// whole hours.
func (r *Report) wanted() time.Duration {
	var wanted time.Duration
	for i := range r.Losses {
		for v, o := range r.Losses[i].Outcomes {
			if o != nil && o.cutShort() {
				wanted = max(wanted, r.Variants[v].lasting(&r.Losses[i].Loss))
			}
		}
	}
	return min((wanted + time.Hour - 1).Truncate(time.Hour), mostTime)
}

// setting says what is played.
func (r *Report) setting() string {
	given := r.Variants[0].options
	return fmt.Sprintf("%s, seed %d, action %s, grace %s, rate %s/s. Times count from the loss.", r.Scenario, r.Seed,
		r.Action, short(given.MonitorGracePeriod), number(given.EvictionRate))
}

// reading says how to read the tables.
func (r *Report) reading() string {
	text := "What acts is nodelifecycle: with the flags of kube-controller-manager it confirms silence first, and " +
		"waits\n" +
		"where that does not. First are losses with pods of living nodes evicted, then those with workloads lost for\n" +
		"good, pods that stay down, and workloads lost for a time. DaemonSets do not count."
	if !r.budgets() {
		text += fmt.Sprintf("\nWith action %s no PodDisruptionBudget keeps a pod; "+
			"--set action=evict shows what they would keep.", r.Action)
	}
	return text
}

func (r *Report) partial() string {
	return fmt.Sprintf("PARTIAL: %d of %d runs; + is so far, %s is not known.", r.Done, r.Of, unknown)
}

// budgets reports whether the action asks for budgets.
func (r *Report) budgets() bool {
	return r.Action == evicting.Evict || r.Action == evicting.EvictThenDelete
}

// column is one of the tables. Its head is in two lines. It shows a count or a
// time.
type column struct {
	head  [2]string
	count func(*Outcome) int
	time  func(*Outcome) report.Seconds
	// fault says that any but zero is a fault of the controller.
	fault bool
}

// of returns what the column shows of a run. A count of a run that is not over
// is marked: it may become another one.
func (c *column) of(o *Outcome) string {
	switch {
	case c.count != nil && o.Over:
		return strconv.Itoa(c.count(o))
	case c.count != nil:
		return strconv.Itoa(c.count(o)) + "+"
	case o.Evicted == 0:
		return none
	}
	return c.time(o).Clock()
}

func (r *Report) columns() []column {
	all := []column{
		{head: [2]string{"", "tainted"}, count: func(o *Outcome) int { return o.Tainted }},
		{head: [2]string{"pods", "evicted"}, count: func(o *Outcome) int { return o.Evicted }},
		{head: [2]string{"of living", "nodes"}, count: func(o *Outcome) int { return o.EvictedLiving }, fault: true},
		{head: [2]string{"", "first"}, time: func(o *Outcome) report.Seconds { return o.First }},
		{head: [2]string{"", "last"}, time: func(o *Outcome) report.Seconds { return o.Last }},
		{head: [2]string{"workloads", "lost"}, count: func(o *Outcome) int { return len(o.Lost) }},
		{head: [2]string{"for", "good"}, count: func(o *Outcome) int { return len(o.LostForGood) }},
		{head: [2]string{"pods", "down"}, count: func(o *Outcome) int { return o.Down }},
	}
	if r.budgets() {
		all = append(all, column{head: [2]string{"kept by", "budgets"}, count: func(o *Outcome) int { return o.Kept }})
	}
	return all
}

// rows are what each loss comes to as given, or with the other variants. Those
// that come to the same as given have no row.
func (r *Report) rows(columns []column, others bool) [][]string {
	rows := [][]string{{"", ""}, {"loss", "nodes"}}
	for _, c := range columns {
		rows[0], rows[1] = append(rows[0], c.head[0]), append(rows[1], c.head[1])
	}
	for i := range r.Losses {
		p := &r.Losses[i]
		given := append([]string{p.String(), strconv.Itoa(p.Nodes)}, cells(columns, p.Outcomes[0])...)
		if !others {
			rows = append(rows, given)
			continue
		}
		rows = append(rows, r.differing(columns, p, given)...)
	}
	if others && len(rows) == 2 {
		return [][]string{{"They make none."}}
	}
	return rows
}

// differing returns the rows of a loss with other settings, below that as
// given. There are none if all come to the same.
func (r *Report) differing(columns []column, p *Played, given []string) [][]string {
	rows := [][]string{given}
	for v := 1; v < len(r.Variants); v++ {
		row := append([]string{"  " + r.Variants[v].Name, ""}, cells(columns, p.Outcomes[v])...)
		if !slices.Equal(row[2:], given[2:]) {
			rows = append(rows, row)
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

func cells(columns []column, o *Outcome) []string {
	var row []string
	for i := range columns {
		if o == nil {
			row = append(row, unknown)
		} else {
			row = append(row, columns[i].of(o))
		}
	}
	return row
}

// list says something of some losses.
type list struct {
	title string
	lines [][2]string // the loss, and what
}

func (l *list) add(loss, what string) { l.lines = append(l.lines, [2]string{loss, what}) }

func (l *list) write(b *strings.Builder) {
	for i, line := range l.lines {
		if i == 0 {
			fmt.Fprintf(b, "\n%s:\n", l.title)
		}
		fmt.Fprintf(b, "  %s: %s\n", line[0], line[1])
	}
}

// workloads names the workloads that each loss takes. Only a run that is over
// tells which of them do not come back.
func (r *Report) workloads() *list {
	l := &list{title: "Workloads lost, with * for good"}
	for i := range r.Losses {
		o := r.Losses[i].Outcomes[0]
		if o == nil || len(o.Lost) == 0 {
			continue
		}
		var names []string
		for _, name := range o.Lost {
			if o.Over && slices.Contains(o.LostForGood, name) {
				name += "*"
			}
			names = append(names, name)
		}
		rest := ""
		if len(names) > mostWorkloads {
			rest = fmt.Sprintf(" and %d more", len(names)-mostWorkloads)
			names = names[:mostWorkloads]
		}
		l.add(r.Losses[i].String(), strings.Join(names, ", ")+rest)
	}
	return l
}

// untainted says why nodes that are lost have no taint.
func (r *Report) untainted() *list {
	l := &list{title: "Why lost nodes are not tainted"}
	for i := range r.Losses {
		if o := r.Losses[i].Outcomes[0]; o != nil && o.Untainted != "" {
			l.add(r.Losses[i].String(), o.Untainted)
		}
	}
	return l
}

// interrupted says how far the runs are that were interrupted.
func (r *Report) interrupted() *list {
	l := &list{title: "Interrupted, after the loss"}
	for i := range r.Losses {
		for v, o := range r.Losses[i].Outcomes {
			if o != nil && o.Interrupted {
				l.add(fmt.Sprintf("%s, %s", r.Losses[i].Loss, r.Variants[v].Name), o.Until.Clock())
			}
		}
	}
	return l
}

// cutShort reports whether a run was as long as it may be.
func (r *Report) cutShort() bool {
	for i := range r.Losses {
		for _, o := range r.Losses[i].Outcomes {
			if o != nil && o.cutShort() {
				return true
			}
		}
	}
	return false
}

func (o *Outcome) cutShort() bool { return !o.Over && !o.Interrupted }
