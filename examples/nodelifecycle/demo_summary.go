package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/memory"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
)

// errNotHeld says that the demonstration did something that it should not have.
var errNotHeld = errors.New("the summary does not hold")

// slack is what the witness may be behind the API, and a deletion behind its
// time, on a busy machine. A toleration is counted from a time in whole seconds,
// so its end may be a second late by design; see eviction.StartTime.
const (
	slackSeen = 150 * time.Millisecond
	slackLate = 2500 * time.Millisecond
)

// verdict is what the witness makes of what it has seen.
type verdict struct {
	zones                 map[string]*zoneVerdict
	mustLeave, left       int
	wrong, missing, early []string
	toUnknown, toTaint    []time.Duration
	whileDown             int // taints set while all zones were down or had just been
}

type zoneVerdict struct {
	tainted, evicted int
	peak             float64 // of taints set, over the rate that is allowed
}

// judge compares what was seen with what the script allows, from the API's side
// alone.
func (w *witness) judge(world *world, o *options.Options) *verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &verdict{zones: map[string]*zoneVerdict{}}
	now := time.Now()
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		v.judgePod(name, w.pods[name], w.nodes[w.pods[name].node], now)
	}
	for _, zone := range demoZones {
		v.judgeZone(string(zone), world.inZone(string(zone)), w, o)
	}
	world.mu.Lock()
	defer world.mu.Unlock()
	for name, falls := range world.fell {
		for i, fell := range falls {
			until := now
			if i+1 < len(falls) {
				until = falls[i+1]
			}
			v.times(w.nodes[name], span{fell, until})
		}
	}
	outages := script(world)
	cut := outages[len(outages)-1]
	from, to := world.started.Add(cut.at), world.started.Add(cut.until+o.MonitorGracePeriod)
	for _, n := range w.nodes {
		for _, s := range n.tainted {
			if s.from.After(from) && s.from.Before(to) {
				v.whileDown++
			}
		}
	}
	return v
}

// judgePod says whether a pod had to leave, and whether it did.
func (v *verdict) judgePod(name string, p *podSeen, n *nodeSeen, now time.Time) {
	tolerated := map[patience]time.Duration{impatient: 0, patient: demoToleration * time.Second}
	must, may, early := false, false, !p.evicted.IsZero()
	for _, s := range n.tainted {
		wait, leaves := tolerated[p.patience]
		if !leaves {
			continue
		}
		may = may || s.length(now)+slackSeen >= wait
		must = must || s.length(now) >= wait+slackLate
		if due := s.from.Add(wait - slackSeen); !p.evicted.Before(due) {
			early = false
		}
	}
	switch evicted := !p.evicted.IsZero(); {
	case evicted && !may:
		v.wrong = append(v.wrong, name)
	case evicted && early:
		v.early = append(v.early, name)
	case must && !evicted:
		v.missing = append(v.missing, name)
	}
	if must {
		v.mustLeave++
	}
	if !p.evicted.IsZero() {
		v.left++
	}
}

// judgeZone compares the taints set in a zone with what its rate allows. It is
// the normal rate at most, whatever the zone's state.
func (v *verdict) judgeZone(zone string, nodes []string, w *witness, o *options.Options) {
	z := &zoneVerdict{}
	v.zones[zone] = z
	var set []time.Time
	for _, name := range nodes {
		for _, s := range w.nodes[name].tainted {
			set = append(set, s.from)
		}
	}
	slices.SortFunc(set, time.Time.Compare)
	z.tainted = len(set)
	for i := range set {
		for j := i + 1; j < len(set); j++ {
			allowed := 1 + o.EvictionRate*(set[j].Sub(set[i])+slackSeen).Seconds()
			z.peak = max(z.peak, float64(j-i+1)/allowed)
		}
	}
	for name, p := range w.pods {
		if strings.HasPrefix(name, "node-"+zone) && !p.evicted.IsZero() {
			z.evicted++
		}
	}
}

// times takes how long it took after a node fell silent, until it next did.
func (v *verdict) times(n *nodeSeen, silence span) {
	for _, at := range n.unknown {
		if at.After(silence.from) && at.Before(silence.to) {
			v.toUnknown = append(v.toUnknown, at.Sub(silence.from))
			break
		}
	}
	for _, s := range n.tainted {
		if s.from.After(silence.from) && s.from.Before(silence.to) {
			v.toTaint = append(v.toTaint, s.from.Sub(silence.from))
			break
		}
	}
}

// print writes the summary and returns errNotHeld if a line of it is not as it
// should be.
func (v *verdict) print(out io.Writer, calls map[memory.Request]int) error {
	held := true
	check := func(ok bool, format string, args ...any) {
		mark := "ok  "
		if !ok {
			mark, held = "FAIL", false
		}
		fmt.Fprintf(out, "%s  %s\n", mark, fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(out, "\nWhat a witness saw through the API:")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "zone\ttainted\tpods evicted\tof the rate allowed, at most")
	for _, zone := range slices.Sorted(maps.Keys(v.zones)) {
		z := v.zones[zone]
		fmt.Fprintf(table, "%s\t%d\t%d\t%.0f%%\n", zone, z.tainted, z.evicted, 100*z.peak)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "from silence to Unknown: %s\n", spread(v.toUnknown))
	fmt.Fprintf(out, "from silence to taint:   %s\n", spread(v.toTaint))
	fmt.Fprintf(out, "calls of the controller: %s\n\n", countWrites(calls))

	check(len(v.missing) == 0, "%d pods had to leave, %d of them did not %v", v.mustLeave, len(v.missing), v.missing)
	check(len(v.wrong) == 0, "%d pods left, %d of them wrongly %v", v.left, len(v.wrong), v.wrong)
	check(len(v.early) == 0, "%d pods left before their toleration ended %v", len(v.early), v.early)
	check(v.mustLeave > 0 && v.left > 0, "pods did leave")
	for _, zone := range slices.Sorted(maps.Keys(v.zones)) {
		check(v.zones[zone].peak <= 1, "zone %s stayed within its rate", zone)
	}
	check(v.whileDown == 0, "%d nodes tainted while every zone was down, and a grace period after", v.whileDown)
	if !held {
		return errNotHeld
	}
	return nil
}

// spread shows the least, the middle and the greatest of some durations.
func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	return fmt.Sprintf("%.1fs first, %.1fs median, %.1fs last (%d times)",
		d[0].Seconds(), d[len(d)/2].Seconds(), d[len(d)-1].Seconds(), len(d))
}

func countWrites(calls map[memory.Request]int) string {
	var parts []string
	for request, n := range calls {
		if request.Verb != "watch" && request.Verb != "list" {
			parts = append(parts, fmt.Sprintf("%d %s", n, request))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
