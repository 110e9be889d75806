package scale

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/report"
)

// Report is what the sizes cost that were played.
type Report struct {
	Seed uint64 `json:"seed"`
	// EvictionRate is node-eviction-rate, nodes a second.
	EvictionRate float64 `json:"evictionRate"`
	// Kubelets says that each node ran the kubelet of examples/hollownode.
	Kubelets bool `json:"kubelets,omitempty"`
	// Rows are by size. Of is how many there are to be.
	Rows []Row `json:"rows"`
	Of   int   `json:"of"`
}

// Row is what one size costs.
type Row struct {
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"`
	// Declared is how many nodes the controller has declared Unknown, and Tainted
	// how many it has tainted NoExecute. Evicted is how many pods it has told to
	// leave.
	Declared int `json:"declared"`
	Tainted  int `json:"tainted"`
	Evicted  int `json:"evicted"`
	// Wall and CPU are seconds. CPU is nil where the system does not tell.
	Wall float64  `json:"wallSeconds"`
	CPU  *float64 `json:"cpuSeconds"`
	// LiveHeap and Allocated are bytes.
	LiveHeap    uint64 `json:"liveHeapBytes"`
	Allocations uint64 `json:"allocations"`
	Allocated   uint64 `json:"allocatedBytes"`
	// ToBefore is how many times as much as in the row before; nil in the first.
	ToBefore *Ratios `json:"toBefore,omitempty"`
}

// Ratios compare two rows.
type Ratios struct {
	Wall        float64  `json:"wall"`
	CPU         *float64 `json:"cpu"`
	LiveHeap    float64  `json:"liveHeap"`
	Allocations float64  `json:"allocations"`
}

// add adds the next row.
func (r *Report) add(row Row) {
	if n := len(r.Rows); n > 0 {
		before := &r.Rows[n-1]
		row.ToBefore = &Ratios{
			Wall:        row.Wall / before.Wall,
			LiveHeap:    float64(row.LiveHeap) / float64(before.LiveHeap),
			Allocations: float64(row.Allocations) / float64(before.Allocations),
		}
		if row.CPU != nil && before.CPU != nil {
			row.ToBefore.CPU = new(*row.CPU / *before.CPU)
		}
	}
	r.Rows = append(r.Rows, row)
}

const mebibyte = 1 << 20

// Write writes the report for people.
func (r *Report) Write(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in which a third of the nodes is silent for %s, eviction rate %v/s, seed %d.\n",
		report.SecondsOf(duration).Clock(), report.SecondsOf(lostFor).Clock(), r.EvictionRate, r.Seed)
	if r.Kubelets {
		b.WriteString("Each node runs the kubelet of examples/hollownode.\n")
	}
	b.WriteString("x is how many times as much as in the row before. Live heap: after a forced collection,\n" +
		"when it was fullest.\n")
	if len(r.Rows) < r.Of {
		fmt.Fprintf(&b, "PARTIAL: %d of %d sizes.\n", len(r.Rows), r.Of)
	}
	b.WriteString("\n")
	table := [][]string{{"nodes", "pods", "declared", "tainted", "evicted", "wall s", "x", "CPU s", "x",
		"live MiB", "x", "M allocations", "x", "MiB allocated"}}
	for i := range r.Rows {
		table = append(table, r.Rows[i].cells())
	}
	if err := report.WriteTable(&b, table); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (w *Row) cells() []string {
	times := w.ToBefore
	if times == nil {
		times = &Ratios{}
	}
	return []string{
		strconv.Itoa(w.Nodes), strconv.Itoa(w.Pods),
		strconv.Itoa(w.Declared), strconv.Itoa(w.Tainted), strconv.Itoa(w.Evicted),
		decimal(&w.Wall, 1), ratio(&times.Wall),
		decimal(w.CPU, 1), ratio(times.CPU),
		strconv.FormatUint(w.LiveHeap/mebibyte, 10), ratio(&times.LiveHeap),
		decimal(new(float64(w.Allocations)/1e6), 1), ratio(&times.Allocations),
		strconv.FormatUint(w.Allocated/mebibyte, 10),
	}
}

// none is what a table shows where there is no such thing.
const none = "-"

func decimal(v *float64, digits int) string {
	if v == nil {
		return none
	}
	return strconv.FormatFloat(*v, 'f', digits, 64)
}

// ratio shows a ratio, which is never zero.
func ratio(v *float64) string {
	if v == nil || *v == 0 {
		return none
	}
	return decimal(v, 2)
}
