package explore

import (
	"strconv"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// SettleTime is how long after the last fault a controller may still have
// something to do: nodes expire, wait for their zone's rate one after the other,
// and their pods for the end of their tolerations.
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
	return 3*grace + queue + longestToleration(s) + retries
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
