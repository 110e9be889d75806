package shadow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Limit is how many differences a page lists unless the request says limit=N,
// and MaxLimit is the largest N.
const (
	Limit    = 1000
	MaxLimit = 10_000
)

// report is what was compared, at a time.
type report struct {
	now         time.Time
	tolerance   time.Duration
	program     string
	tallies     []Tally
	differences []Difference
	history     history
}

func (s *Shadow) report(limit int) report {
	var l listed
	r := locked(s, func(now time.Time, w *World) report {
		l = w.record.listed(limit)
		return report{
			now: now, tolerance: w.record.config.Tolerance, tallies: w.record.Tallies(),
			program: cmp.Or(w.record.config.Program, DefaultProgram), history: w.record.history.snapshot(now),
		}
	})
	r.differences = l.differences(limit) // sorted while nothing waits for it
	return r
}

// Differences returns up to limit differences; see [Record.Differences].
func (s *Shadow) Differences(limit int) []Difference { return s.report(limit).differences }

// NewPage returns a page with the counts of all comparisons, and the
// differences by time. It is text, or JSON with format=json, or the page of
// [Shadow.WritePage] with format=html. Limit=N lists N differences, which is 1
// to [MaxLimit]. Serve it through serving.NewPage, for
// one caller at a time. What it copies is bounded by the limit and by
// RecordConfig.MostKept.
func NewPage(s *Shadow) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		values := request.URL.Query()
		limit := Limit
		if text := values.Get("limit"); text != "" {
			var err error
			if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > MaxLimit {
				http.Error(w, fmt.Sprintf("limit is %q, want a whole number from 1 to %d", text, MaxLimit),
					http.StatusBadRequest)
				return
			}
		}
		switch format := values.Get("format"); format {
		case "", "text":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			s.report(limit).writeText(w)
		case "json":
			w.Header().Set("Content-Type", "application/json")
			s.report(limit).writeJSON(w)
		case "html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = s.WritePage(w) // the reader may have gone
		default:
			http.Error(w, fmt.Sprintf("format is %q, want text, json or html", format), http.StatusBadRequest)
		}
	})
}

// WriteTable writes the page's text with as many differences as a page lists at
// most.
func (s *Shadow) WriteTable(out io.Writer) { s.report(MaxLimit).writeText(out) }

func (r report) writeText(out io.Writer) {
	fmt.Fprintf(out, "What the shadow would have done, and what happened, %s.\n\n", stamp(r.now))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ACTION\tVERDICT\tCOUNT\tMOST")
	for _, t := range r.tallies {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", t.Action, t.Verdict, t.Count, t.Most.Round(time.Millisecond))
	}
	if err := table.Flush(); err != nil {
		return // the reader has gone
	}
	different := 0
	for _, t := range r.tallies {
		if t.Verdict != VerdictSame {
			different += t.Count
		}
	}
	if different == 0 {
		fmt.Fprintln(out, "\nNo differences.")
		return
	}
	fmt.Fprintf(out, "\n%d of %d differences:\n\n", len(r.differences), different)
	table = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "OBJECT\tACTION\tDETAIL\tVERDICT\tBY\tSHADOW\tCLUSTER\tENDED")
	for i := range r.differences {
		d := &r.differences[i]
		by := ""
		if d.By() != 0 {
			by = d.By().Round(time.Millisecond).String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Object, d.Action, d.Detail, d.Verdict, by,
			stamp(d.Shadow), stamp(d.Cluster), stamp(d.Ended))
	}
	if err := table.Flush(); err != nil {
		return // the reader has gone
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// The JSON form of a page. Times are RFC 3339; one that is not there is left
// out.
type reportJSON struct {
	Now         time.Time        `json:"now"`
	Tallies     []tallyJSON      `json:"tallies"`
	Differences []differenceJSON `json:"differences"`
}

type tallyJSON struct {
	Action      Action  `json:"action"`
	Verdict     Verdict `json:"verdict"`
	Count       int     `json:"count"`
	MostSeconds float64 `json:"mostSeconds"`
	// Dropped is how many of them are not kept.
	Dropped int `json:"dropped,omitempty"`
}

type differenceJSON struct {
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`
	UID       string  `json:"uid"`
	Action    Action  `json:"action"`
	Detail    string  `json:"detail,omitempty"`
	Verdict   Verdict `json:"verdict"`
	// BySeconds is negative when the shadow was earlier.
	BySeconds float64   `json:"bySeconds,omitempty"`
	Shadow    time.Time `json:"shadow,omitzero"`
	Cluster   time.Time `json:"cluster,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
}

func (r report) writeJSON(out io.Writer) {
	page := reportJSON{
		Now: r.now, Tallies: make([]tallyJSON, 0, len(r.tallies)),
		Differences: make([]differenceJSON, 0, len(r.differences)),
	}
	for _, t := range r.tallies {
		page.Tallies = append(page.Tallies, tallyJSON{t.Action, t.Verdict, t.Count, t.Most.Seconds(), t.Dropped})
	}
	for i := range r.differences {
		d := &r.differences[i]
		page.Differences = append(page.Differences, differenceJSON{
			Namespace: d.Object.Namespace, Name: d.Object.Name, UID: string(d.Object.UID),
			Action: d.Action, Detail: d.Detail, Verdict: d.Verdict, BySeconds: d.By().Seconds(),
			Shadow: d.Shadow, Cluster: d.Cluster, Ended: d.Ended,
		})
	}
	if err := json.NewEncoder(out).Encode(page); err != nil {
		return // the reader has gone
	}
}

// Register registers the metrics of a shadow.
func (s *Shadow) Register(registry prometheus.Registerer) error {
	if err := registry.Register(collector{s}); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// collector reads the counts when it is asked.
type collector struct{ shadow *Shadow }

var (
	comparedDesc = prometheus.NewDesc("shadow_compared_actions_total",
		"Actions that the shadow or the cluster has done and that were compared, by verdict: Same, Earlier and Later say "+
			"when the shadow would have done it, OnlyShadow and OnlyCluster that only one did.",
		[]string{"action", "verdict"}, nil)
	openDesc = prometheus.NewDesc("shadow_open_actions",
		"Actions that only the shadow or only the cluster has done so far.", []string{"action", "by"}, nil)
	mostDesc = prometheus.NewDesc("shadow_largest_difference_seconds",
		"The largest time between the shadow's action and the cluster's, in either direction.",
		[]string{"action", "verdict"}, nil)
	droppedDesc = prometheus.NewDesc("shadow_dropped_differences_total",
		"Differences that were counted and are not listed, because there are too many like them.",
		[]string{"action", "verdict"}, nil)
)

func (collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{comparedDesc, openDesc, mostDesc, droppedDesc} {
		descs <- desc
	}
}

func (c collector) Collect(found chan<- prometheus.Metric) {
	type counts struct {
		tallies         []Tally
		shadow, cluster [len(actions)]int
	}
	all := locked(c.shadow, func(_ time.Time, w *World) counts {
		n := counts{tallies: w.record.Tallies()}
		for i, action := range actions {
			n.shadow[i], n.cluster[i] = w.record.Waiting(action, true), w.record.Waiting(action, false)
		}
		return n
	})
	for _, t := range all.tallies {
		if t.Verdict == VerdictOpen {
			continue
		}
		labels := []string{string(t.Action), string(t.Verdict)}
		found <- prometheus.MustNewConstMetric(comparedDesc, prometheus.CounterValue, float64(t.Count), labels...)
		found <- prometheus.MustNewConstMetric(mostDesc, prometheus.GaugeValue, t.Most.Seconds(), labels...)
		found <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(t.Dropped), labels...)
	}
	for i, action := range actions {
		found <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, float64(all.shadow[i]), string(action),
			"shadow")
		found <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, float64(all.cluster[i]), string(action),
			"cluster")
	}
}
