package explore

import (
	"strconv"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// SettleTime is how long after the last fault a controller may still have
// something to do. Nodes expire and wait for their zone's rate one after the
// other, and their pods wait for the end of their tolerations.
func SettleTime(s *scenario.Scenario) time.Duration {
	nodes := 0
	for _, zone := range s.Cluster.Zones {
		nodes += zone.Nodes
	}
	slowest := 1.0
	for _, name := range []string{"node-eviction-rate", "secondary-node-eviction-rate"} {
		if rate, err := strconv.ParseFloat(string(s.Controller.Flags[name]), 64); err == nil && rate > 0 {
			slowest = min(slowest, rate)
		}
	}
	queue := time.Duration(float64(nodes) / slowest * float64(time.Second))
	grace, err := time.ParseDuration(string(s.Controller.Flags["node-monitor-grace-period"]))
	if err != nil {
		grace = 50 * time.Second
	}
	return 3*grace + timeOf(s, "resume-delay") + queue + longestToleration(s) + evictions(s) + retries
}

// evictions is how long budgets can keep all pods, and what else makes them
// leave later.
func evictions(s *scenario.Scenario) time.Duration {
	pods, slowest := 0, 0.0
	for i := range s.Cluster.Workloads {
		pods += s.Cluster.Workloads[i].Replicas
	}
	for _, name := range []string{"budget-overall", "budget-per-node", "budget-per-namespace"} {
		rate, err := strconv.ParseFloat(string(s.Controller.Flags[name]), 64)
		if err == nil && rate > 0 && (slowest == 0 || rate < slowest) {
			slowest = rate
		}
	}
	total := timeOf(s, "evict-for") + timeOf(s, "pod-eviction-timeout")
	if slowest > 0 {
		total += time.Duration(float64(pods) / slowest * float64(time.Second))
	}
	return total
}

// timeOf returns the value of a flag, zero if it is not set.
func timeOf(s *scenario.Scenario, flag string) time.Duration {
	d, err := time.ParseDuration(string(s.Controller.Flags[flag]))
	if err != nil {
		return 0
	}
	return d
}

// retries is what the backoff of a failed call can add, several times.
const retries = 4 * time.Minute

func longestToleration(s *scenario.Scenario) time.Duration {
	longest := int64(0)
	for i := range s.Cluster.Workloads {
		if seconds := s.Cluster.Workloads[i].TolerationSeconds; seconds != nil {
			longest = max(longest, *seconds)
		}
	}
	for i := range s.Script {
		if t := s.Script[i].Tolerate; t != nil {
			longest = max(longest, t.Seconds)
		}
	}
	return time.Duration(longest) * time.Second
}
