package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/zone"
)

// newDoubtPage returns a page that says what delays the declaration of dead
// nodes and their NoExecute taints, and since when. It begins with what is odd
// about the flags, and ends with the nodes that wait, each with its reason. It
// is text, or JSON with format=json.
func newDoubtPage(state reader, warnings []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		format := request.URL.Query().Get("format")
		switch format {
		case "", "text", "json":
		default:
			http.Error(w, fmt.Sprintf("format is %q, want text or json", format), http.StatusBadRequest)
			return
		}
		v := viewDoubts(state, time.Now())
		v.warnings, v.waits = warnings, viewWaits(state, v.now)
		if format == "json" {
			w.Header().Set("Content-Type", "application/json")
			v.writeJSON(w)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		v.writeText(w)
	})
}

// doubtView is what the page shows.
type doubtView struct {
	now                     time.Time
	doubts                  []controller.Doubt
	unconfirmed, undeclared int
	held                    []string      // zones
	recovering              []zone.Status // zones that keep the rate of a disruption
	warnings                []string      // about flags
	waits                   waitView
}

func viewDoubts(state reader, now time.Time) doubtView {
	v := doubtView{now: now}
	var zones []zone.Status
	var phase zone.Phase
	state.read(func(c *controller.Controller) {
		v.doubts, zones, phase = c.Doubts(now), c.Zones(), c.Phase()
		v.unconfirmed, v.undeclared = c.Unconfirmed(), c.Undeclared()
	})
	depends := phase == zone.PhaseActive || phase == zone.PhaseHolding
	for _, z := range zones {
		if depends && z.Counts.Unconfirmed > 0 && z.Rate == 0 {
			v.held = append(v.held, z.Zone)
		}
		if !z.HeldUntil.IsZero() {
			v.recovering = append(v.recovering, z)
		}
	}
	return v
}

func (v *doubtView) writeText(out io.Writer) {
	for _, warning := range v.warnings {
		fmt.Fprintf(out, "Warning: %s\n", warning)
	}
	if len(v.doubts) == 0 {
		fmt.Fprintf(out, "Nothing is doubted, %s.\n", v.now.UTC().Format(time.RFC3339))
	}
	for _, d := range v.doubts {
		fmt.Fprintf(out, "%s: %s\n", d.Kind, d)
	}
	fmt.Fprintf(out, "Silent nodes that are not confirmed: %d. Confirmed ones that have yet to be declared: %d.\n",
		v.unconfirmed, v.undeclared)
	for _, name := range v.held {
		fmt.Fprintf(out, "Zone %q has no rate while its unconfirmed nodes are not heard or read.\n", name)
	}
	for _, z := range v.recovering {
		fmt.Fprintf(out, "Zone %q recovers: until %s its rate stays at %v nodes a second, so that all nodes that are "+
			"back can be heard.\n", z.Zone, z.HeldUntil.UTC().Format(time.RFC3339), z.Rate)
	}
	v.waits.writeText(out)
}

// The JSON form of the page. Times are RFC 3339.
type doubtsJSON struct {
	Now         time.Time   `json:"now"`
	Doubts      []doubtJSON `json:"doubts"`
	Unconfirmed int         `json:"unconfirmed"`
	Undeclared  int         `json:"undeclared"`
	HeldZones   []string    `json:"heldZones,omitempty"`
	// RecoveringZones keep the rate that they had while they were disrupted.
	RecoveringZones []recoveringJSON `json:"recoveringZones,omitempty"`
	Warnings        []string         `json:"warnings,omitempty"`
	// Waiting are nodes that are silent or not ready and not acted on, the first
	// 1,000 by zone and name.
	Waiting []waitJSON                    `json:"waiting,omitempty"`
	Reasons map[controller.WaitReason]int `json:"waitingByReason,omitempty"`
}

type recoveringJSON struct {
	Zone  string    `json:"zone"`
	Rate  float64   `json:"rate"`
	Until time.Time `json:"until"`
}

type doubtJSON struct {
	Kind  string    `json:"kind"`
	Since time.Time `json:"since"`
	Nodes int       `json:"nodes,omitempty"`
	Text  string    `json:"text"`
}

func (v *doubtView) writeJSON(out io.Writer) {
	page := doubtsJSON{
		Now: v.now, Doubts: make([]doubtJSON, 0, len(v.doubts)),
		Unconfirmed: v.unconfirmed, Undeclared: v.undeclared, HeldZones: v.held, Warnings: v.warnings,
		Waiting: v.waits.asJSON(), Reasons: v.waits.count,
	}
	for _, z := range v.recovering {
		page.RecoveringZones = append(page.RecoveringZones, recoveringJSON{z.Zone, z.Rate, z.HeldUntil})
	}
	for _, d := range v.doubts {
		page.Doubts = append(page.Doubts, doubtJSON{string(d.Kind), d.Since, d.Nodes, d.String()})
	}
	if err := json.NewEncoder(out).Encode(page); err != nil {
		return // the reader has gone
	}
}
