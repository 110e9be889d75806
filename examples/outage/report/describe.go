package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// phrases say what happened to nodes.
var phrases = map[Kind]string{
	Silent:           "silent",
	Heard:            "heard of again",
	ReportedNotReady: "reported not ready",
	Declared:         "declared Unknown",
	Tainted:          "tainted NoExecute",
	Untainted:        "untainted NoExecute",
	Recovered:        "ready again",
	Deleted:          "deleted",
	Registered:       "registered",
	Moved:            "moved here",
}

// describe says for people what happened to nodes.
func describe(line *Line) string {
	var b strings.Builder
	switch line.Kind {
	case PodsEvicted:
		fmt.Fprintf(&b, "%s evicted from %s", Some(line.Count, "pod"), Some(len(line.Nodes), "node"))
	case PodsKept:
		fmt.Fprintf(&b, "%s kept by a budget on %s", Some(line.Count, "pod"), Some(len(line.Nodes), "node"))
	default:
		fmt.Fprintf(&b, "%s %s", Some(len(line.Nodes), "node"), phrases[line.Kind])
		if line.Count != len(line.Nodes) {
			fmt.Fprintf(&b, " %d times", line.Count)
		}
	}
	if over := line.Until - line.At; over >= 1 && line.Until > 0 {
		fmt.Fprintf(&b, " over %s", over)
	}
	fmt.Fprintf(&b, " (%s)", abbreviate(line.Nodes))
	return b.String()
}

// Some returns a number of things in words: 1 node, 2 nodes.
func Some(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// rate shows nodes a second as the flags have them.
func rate(r float64) string { return strconv.FormatFloat(r, 'g', 4, 64) }

// Subject says in a word or two what the line is about.
func (l Line) Subject() string {
	switch {
	case l.Zone != "":
		return "zone " + l.Zone
	case l.Process != "":
		return l.Process
	case l.Kind == FaultBegan || l.Kind == FaultEnded:
		return "fault"
	}
	return "cluster"
}

// Format returns the line for people: when, subject and what. Width is that of
// the subject; see [SubjectWidth].
func (l Line) Format(width int) string {
	return fmt.Sprintf("%s  %-*s  %s", l.At.Clock(), width, l.Subject(), l.Text)
}

// SubjectWidth returns the width that the lines of a scenario need to be
// aligned.
func SubjectWidth(s *scenario.Scenario) int {
	width := len("cluster")
	for _, zone := range s.Cluster.Zones {
		width = max(width, len("zone ")+len(zone.Name))
	}
	return max(width, len("controller-")+len(strconv.Itoa(max(s.Controller.Replicas, 1)-1)))
}
