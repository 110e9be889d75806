// Package hollow measures what examples/hollownode costs, next to kwok.
//
// Nodes become ready, pods come, nothing happens but heartbeats, all pods are
// deleted, and then pods come and go as fast as they can.
//
// Ours costs too much with
//
//   - more CPU time or memory than kwok
//   - more API calls for a pod than a kubelet
//   - more than 1 GiB of memory, or 5 % more of it after 100,000 pods
//   - more goroutines than its workers explain
//
// # How fair it is
//
// The script creates the nodes and binds the pods, so neither waits for a
// scheduler. Leases are renewed each 10 s by both. Neither writes Events: ours
// has --events=false. kwok has its own defaults and its own fast stages: one
// write makes a pod ready, and another removes it. Ours has the loop of a
// kubelet, which also writes that containers have ended. The containers take no
// time to start and to stop, so each is one write. The script deletes with the
// usual grace period. A pod is gone when the subject has removed it.
//
// Pods are seen by a watch of the script. Goroutines are counted in the traces
// that a Go program prints when SIGQUIT ends it.
package hollow

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const help = `Measures what examples/hollownode costs next to kwok, on a real API server.

  go -C examples/e2e run ./measure hollow                                  a quarter of an hour
  go -C examples/e2e run ./measure hollow --nodes 100 --subject ours
`

// Run measures hollow nodes as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return new(options).measurement().Run(ctx, args, out, diagnostics)
}

// options are the flags.
type options struct {
	nodes, pods int
	rest, churn time.Duration
}

func (o *options) measurement() *sidebyside.Measurement {
	return &sidebyside.Measurement{
		Name: "hollow", Help: help, Scenarios: []sidebyside.Scenario{{Name: "alone", Play: o.play}},
		Subjects: []sidebyside.Subject{
			sidebyside.OurSubject("hollownode", "--leader-elect=false", "--secure-port=0", "--events=false"), kwok(),
		},
		Repetitions: 1, Longest: 2 * time.Hour, // and as long as pods come and go
		Ratios: true, Flags: o.addFlags, Check: o.check, Legend: func() string { return "" },
	}
}

func (o *options) addFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.nodes, "nodes", 1000, "how `many` nodes there are")
	flags.IntVar(&o.pods, "pods", 0, "how `many` pods there are (default 5 for each node)")
	flags.DurationVar(&o.rest, "rest", time.Minute, "how long to measure while nothing happens")
	flags.DurationVar(&o.churn, "churn", time.Minute, "how long pods come and go; with 0 they do not")
}

// mostPods of a node are half of the kubelet's default of --max-pods.
const mostPods = 55

func (o *options) check(*sidebyside.Choice) error {
	if o.pods == 0 {
		o.pods = 5 * o.nodes
	}
	switch {
	case o.nodes < 1 || o.pods < 1:
		return fmt.Errorf("--nodes is %d and --pods is %d, want at least 1", o.nodes, o.pods)
	case o.pods > o.nodes*mostPods:
		return fmt.Errorf("--pods is %d, want at most %d for each node", o.pods, mostPods)
	case o.rest < time.Second || o.churn < 0 || o.churn > 0 && o.churn < shortestChurn:
		return fmt.Errorf("--rest is %v and --churn is %v, want at least 1s, and 0 or at least %v",
			o.rest, o.churn, shortestChurn)
	}
	return nil
}

const (
	// mostGrowth is what the memory of ours may grow by, in percent, over as many
	// pods as enoughPods.
	mostGrowth = 5
	enoughPods = 100_000
	// mostMemory is what ours may need, in bytes, whatever it runs.
	mostMemory = 1 << 30
	// mostGoroutines is how many ours may have, whatever it runs. 3*32 of them are
	// the workers of --concurrent-calls, and those of a heartbeat.Sender for
	// renewals and reports. The rest is for connections, informers and whatever
	// else there is.
	mostGoroutines = 256
	// kubeletUpCalls and kubeletEndCalls are the API calls about a pod that a
	// kubelet v1.37.1 was measured to send, to bring it up and to end it. It ran
	// as kubemark's hollow node, on 2026-11-26.
	kubeletUpCalls  = 2.48
	kubeletEndCalls = 4.42
)

// The rows. Those with a limit, or with no more than
// kwok has, are what ours is judged by.

func (o *options) addNodes(r *sidebyside.Record, c sidebyside.Costs) {
	r.Add("CPU time to make them ready", cpuTime, c.CPU.Seconds())
	r.Add("API calls for each node", ratio, float64(len(c.Calls))/float64(o.nodes))
}

func (o *options) addUp(r *sidebyside.Record, c sidebyside.Costs) {
	r.Add("CPU time to bring them up", cpuTime, c.CPU.Seconds()).NoMoreThan(1)
	r.Add("API calls to bring a pod up", ratio, o.callsOfPod(c)).AtMost(kubeletUpCalls)
}

func (o *options) addRest(r *sidebyside.Record, c sidebyside.Costs, resident float64) {
	r.Add("CPU at rest, of a core", sidebyside.Percent, c.Share()).NoMoreThan(1)
	r.Add("calls about leases a second, at rest", sidebyside.Format("%.1f"),
		c.CallsAbout("leases")/c.Took.Seconds())
	r.Add("resident memory at rest", sidebyside.MiB, resident).AtMost(mostMemory).NoMoreThan(1)
}

func (o *options) addEnd(r *sidebyside.Record, c sidebyside.Costs) {
	r.Add("CPU time to end them", cpuTime, c.CPU.Seconds()).NoMoreThan(1)
	r.Add("API calls to end a pod", ratio, o.callsOfPod(c)).AtMost(kubeletEndCalls)
}

func (o *options) callsOfPod(c sidebyside.Costs) float64 {
	return c.CallsAbout("pods", "pods/status") / float64(o.pods)
}

// addChurn adds what it has cost that pods came and went. The memory is that of
// each sample.
func (o *options) addChurn(r *sidebyside.Record, c sidebyside.Costs, pods float64, resident []float64) {
	r.Add(fmt.Sprintf("pods that come and go in %v", o.churn), sidebyside.Format("%.0f"), pods)
	r.Add("of them a second", sidebyside.Format("%.0f"), pods/c.Took.Seconds())
	r.Add("CPU time for 1,000 of them", cpuTime, 1000*c.CPU.Seconds()/pods)
	grown := r.Add("growth of resident memory meanwhile", sidebyside.Format("%+.1f %%"), growth(resident)).NoRatio()
	if pods >= enoughPods {
		grown.AtMost(mostGrowth)
	}
}

// growth returns by how many percent the mean of the last tenth is above that
// of the second tenth.
func growth(of []float64) float64 {
	var before, after float64
	tenth := len(of) / 10
	for i := range tenth {
		before += of[tenth+i]
		after += of[len(of)-tenth+i]
	}
	return 100 * (after - before) / before
}

func addWhole(r *sidebyside.Record, peak, goroutines float64) {
	r.Add("most resident memory at any time", sidebyside.MiB, peak).AtMost(mostMemory)
	r.Add("goroutines at the end", sidebyside.Format("%.0f"), goroutines).AtMost(mostGoroutines)
}

var (
	cpuTime = sidebyside.Format("%.2f s")
	ratio   = sidebyside.Format("%.2f")
)
