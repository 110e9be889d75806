package blast

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/process/evicting"
)

// Variant is the scenario's cluster with other settings.
type Variant struct {
	// Name says which, in a few words.
	Name string `json:"name"`
	// Settings are the flags that differ, and whether tolerations do.
	Settings []string `json:"settings,omitempty"`

	scenario *scenario.Scenario
	options  *options.Options
	// begin is when the loss happens. The stabilization window of the start is
	// over by then in all variants, and heartbeats are where they are in others.
	begin time.Duration
}

// Variants returns the scenario as it is, with twice the grace period, with
// half the rates, and with tolerations that are twice as long. The error is
// that of an invalid scenario, also if one of these is.
func Variants(s *scenario.Scenario) ([]Variant, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	given, err := s.Controller.Options()
	if err != nil {
		return nil, err
	}
	grace := 2 * given.MonitorGracePeriod
	rate, secondary := given.EvictionRate/2, given.SecondaryEvictionRate/2
	longer := s.Clone()
	lengthen(longer)
	all := []Variant{
		{Name: "as given", scenario: s},
		withFlags(s, "grace "+short(grace), map[string]string{"node-monitor-grace-period": short(grace)}),
		withFlags(s, "rate "+number(rate)+"/s", map[string]string{
			"node-eviction-rate": number(rate), "secondary-node-eviction-rate": number(secondary),
			"node-eviction-zone-share": number(given.EvictionZoneShare / 2)}),
		{Name: "tolerations x2", Settings: []string{"tolerationSeconds doubled"}, scenario: longer},
	}
	for i := range all {
		if all[i].options, err = all[i].scenario.Controller.Options(); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].Name, err)
		}
	}
	begin := time.Duration(0)
	for i := range all {
		begin = max(begin, (all[i].options.StabilizationWindow() + time.Minute).Round(time.Second))
	}
	first := allNodes()
	for i := range all {
		all[i].begin = begin
		if err = all[i].of(&first, mostTime).Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].Name, err)
		}
	}
	return all, nil
}

// of returns the scenario of a loss. It is no longer than one may be.
func (v *Variant) of(loss *Loss, longest time.Duration) *scenario.Scenario {
	step := loss.step
	step.At = scenario.Duration(v.begin)
	s := v.scenario.Clone()
	s.Expect, s.Script = nil, []scenario.Step{step}
	s.Duration = scenario.Duration(min(v.begin+step.For.D()+longest, mostTime))
	return s
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func withFlags(s *scenario.Scenario, name string, flags map[string]string) Variant {
	v := Variant{Name: name, scenario: s.Clone()}
	c := &v.scenario.Controller
	if c.Flags == nil {
		c.Flags = map[string]scenario.FlagValue{}
	}
	for _, flag := range []string{"node-monitor-grace-period", "node-eviction-rate", "secondary-node-eviction-rate",
		"node-eviction-zone-share"} {
		if value, ok := flags[flag]; ok {
			c.Flags[flag] = scenario.FlagValue(value)
			v.Settings = append(v.Settings, flag+"="+value)
		}
	}
	return v
}

// lengthen doubles how long pods tolerate anything.
func lengthen(s *scenario.Scenario) {
	for i := range s.Cluster.Workloads {
		w := &s.Cluster.Workloads[i]
		if seconds, ok := tolerated(w); ok {
			w.TolerationSeconds = ptr.To(twice(seconds))
		}
		for t := range w.Tolerations {
			if seconds := w.Tolerations[t].Seconds; seconds != nil {
				w.Tolerations[t].Seconds = ptr.To(twice(*seconds))
			}
		}
	}
}

// twice doubles seconds as far as they go.
func twice(seconds int64) int64 { return 2 * min(seconds, math.MaxInt64/2) }

// tolerated returns how many seconds the pods of a workload tolerate that their
// node is ill, and false if it is for ever.
func tolerated(w *scenario.Workload) (int64, bool) {
	switch {
	case w.Kind == scenario.DaemonSet || w.TolerateForever:
		return 0, false
	case w.TolerationSeconds == nil:
		return 300, true // what the API server's admission gives
	}
	return *w.TolerationSeconds, true
}

// toleration returns how long the pods tolerate at most that their node is ill.
func (v *Variant) toleration() time.Duration {
	longest := int64(0)
	for i := range v.scenario.Cluster.Workloads {
		if seconds, ok := tolerated(&v.scenario.Cluster.Workloads[i]); ok {
			longest = max(longest, seconds)
		}
	}
	return time.Duration(min(longest, math.MaxInt32)) * time.Second
}

// silentFor is for how long nothing happens once nothing more can, and no
// toleration is about to end. A node waits for its grace period and its rate. A
// pod waits for the rates of evictions, or until evicting is given up for
// deleting.
func (v *Variant) silentFor() time.Duration {
	o := v.options
	wait := 10*time.Minute + o.GracePeriod() + o.ResumeDelay
	if o.EvictionMode == string(controller.EvictionModeNode) {
		wait += o.PodEvictionTimeout
	}
	if o.Evicting.Action == evicting.EvictThenDelete {
		wait += o.Evicting.EvictFor
	}
	for _, rate := range []float64{o.EvictionRate, o.SecondaryEvictionRate, o.Evicting.BudgetOverall,
		o.Evicting.BudgetPerNode, o.Evicting.BudgetPerNamespace} {
		if rate > 0 {
			wait += time.Duration(min(2/rate, 86400) * float64(time.Second))
		}
	}
	return wait
}
