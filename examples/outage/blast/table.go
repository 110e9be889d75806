package blast

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kubelife/lifecycle/examples/evicting"
	"github.com/kubelife/lifecycle/examples/outage/report"
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
	budgets := r.Action == evicting.Evict || r.Action == evicting.EvictThenDelete
	given := r.Variants[0].options
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d, action %s, grace %s, rate %s/s. Times count from the loss.\n", r.Scenario, r.Seed,
		r.Action, short(given.MonitorGracePeriod), number(given.EvictionRate))
	if !budgets {
		fmt.Fprintf(&b, "With action %s no PodDisruptionBudget keeps a pod; --set action=evict shows what they would keep.\n",
			r.Action)
	}
	if r.Done < r.Of {
		fmt.Fprintf(&b, "PARTIAL: %d of %d runs; %s is not known.\n", r.Done, r.Of, unknown)
	}
	b.WriteString("\n")
	if err := report.WriteTable(&b, r.rows(budgets)); err != nil {
		return err
	}
	b.WriteString("\nWith other settings: pods evicted, the first to the last after\n")
	if err := report.WriteTable(&b, r.variantRows()); err != nil {
		return err
	}
	r.writeWorkloads(&b)
	if !r.allOver() {
		b.WriteString("\n+ The run was as long as it may be (--longest), and more was to come.\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// rows are what each loss comes to as given.
func (r *Report) rows(budgets bool) [][]string {
	header := []string{"loss", "nodes", "tainted", "pods evicted", "of living nodes", "first", "last", "workloads lost"}
	if budgets {
		header = append(header, "kept by budgets")
	}
	rows := [][]string{header}
	for i := range r.Losses {
		p := &r.Losses[i]
		row := []string{p.String(), strconv.Itoa(p.Nodes)}
		o := p.Outcomes[0]
		if o == nil {
			for len(row) < len(header) {
				row = append(row, unknown)
			}
			rows = append(rows, row)
			continue
		}
		row = append(row, strconv.Itoa(o.Tainted), strconv.Itoa(o.Evicted)+more(o), strconv.Itoa(o.EvictedLiving),
			o.time(o.First), o.time(o.Last), strconv.Itoa(len(o.Lost)))
		if budgets {
			row = append(row, strconv.Itoa(o.Kept))
		}
		rows = append(rows, row)
	}
	return rows
}

// more marks a number that would have grown.
func more(o *Outcome) string {
	if o.Over {
		return ""
	}
	return "+"
}

// time shows when a pod left.
func (o *Outcome) time(at report.Seconds) string {
	if o.Evicted == 0 {
		return none
	}
	return at.Clock()
}

// variantRows are how many pods leave, and when, with each variant.
func (r *Report) variantRows() [][]string {
	header := []string{"loss"}
	for i := range r.Variants {
		header = append(header, r.Variants[i].Name)
	}
	rows := [][]string{header}
	for i := range r.Losses {
		row := []string{r.Losses[i].String()}
		for _, o := range r.Losses[i].Outcomes {
			switch {
			case o == nil:
				row = append(row, unknown)
			case o.Evicted == 0:
				row = append(row, "0"+more(o))
			default:
				row = append(row, fmt.Sprintf("%d%s, %s to %s", o.Evicted, more(o), o.time(o.First), o.time(o.Last)))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// writeWorkloads names the workloads that each loss takes.
func (r *Report) writeWorkloads(b *strings.Builder) {
	title := "\nWorkloads lost:\n"
	for i := range r.Losses {
		o := r.Losses[i].Outcomes[0]
		if o == nil || len(o.Lost) == 0 {
			continue
		}
		names := o.Lost
		rest := ""
		if len(names) > mostWorkloads {
			rest = fmt.Sprintf(" and %d more", len(names)-mostWorkloads)
			names = names[:mostWorkloads]
		}
		fmt.Fprintf(b, "%s  %s: %s%s\n", title, r.Losses[i].Loss, strings.Join(names, ", "), rest)
		title = ""
	}
}

func (r *Report) allOver() bool {
	for i := range r.Losses {
		for _, o := range r.Losses[i].Outcomes {
			if o != nil && !o.Over {
				return false
			}
		}
	}
	return true
}
