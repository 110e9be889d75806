// Package blindness measures what subjects do while they cannot hear nodes that
// beat. It counts the nodes that are declared dead by ours
// (examples/nodelifecycle) and by kube-controller-manager's
// node-lifecycle-controller.
//
// A scenario stops the controller, kills the API server, delays and cuts
// watches, or silences some of many nodes for a while. A few nodes die
// meanwhile, so a program that declares no node at all is not flawless.
//
// # How it judges
//
// Three sources say what happened, and none of them is the subject or its
// caches:
//
//   - The fleet of nodes records each heartbeat that the API server has
//     acknowledged, and when a node was cut off for good.
//   - The API server's audit log has the time and the user of each write of a
//     status and each deletion of a pod.
//   - A watch on a direct connection says when Ready became Unknown, which
//     conditions with it, and which taints nodes have.
//
// Package judge compares them. Its doc comment has the criterion.
//
// # What both programs get
//
// Their periods are shorter than the defaults: a grace period of 20 s, beats
// every 5 s. Ours gets --node-heartbeat-interval with the interval of the
// beats; upstream has no such flag. With one replica leader election is off,
// because a leader ends when it cannot renew its lease.
package blindness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

const help = `Plays what keeps a controller from hearing nodes that beat, with examples/nodelifecycle and
kube-controller-manager v1.37.1 on a real API server. Counts the living nodes that are declared dead.

  go -C examples/e2e run ./measure blindness                                 all: half an hour
  go -C examples/e2e run ./measure blindness --parallel 4                    seventeen minutes
  go -C examples/e2e run ./measure blindness --scenario stop,rolling --subject ours
`

// Run measures blindness as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return measurement().Run(ctx, args, out, diagnostics)
}

func measurement() *sidebyside.Measurement[scenario, judge.Counts] {
	// The rate of taints is ten times the default, so that a wrong declaration
	// shows in the pods within the minutes of a play.
	flags := []string{
		"--node-monitor-grace-period=" + grace.String(), "--node-startup-grace-period=" + grace.String(),
		"--node-monitor-period=5s", "--kube-api-qps=200", "--kube-api-burst=200", "--node-eviction-rate=1",
		"--secure-port=0", "--v=2",
	}
	return &sidebyside.Measurement[scenario, judge.Counts]{
		Name: "blindness", Help: help, Scenarios: scenarios(),
		Subjects: []sidebyside.Subject{
			sidebyside.OurSubject("nodelifecycle", append(flags, "--node-heartbeat-interval="+beat.String())...),
			sidebyside.Upstream("node-lifecycle-controller,taint-eviction-controller", flags...),
		},
		Repetitions: 1, Parallel: 2, Longest: 20 * time.Minute, // the longest scenario takes seven
		Play: play, Corner: "while nodes beat", Show: show,
		Legend: func() string { return fmt.Sprintf(legend, grace.Seconds(), beat.Seconds()) },
		Faults: faults,
	}
}

// play plays the fault, waits for what follows from it, and counts.
func play(ctx context.Context, p *sidebyside.Play[scenario]) (counts *judge.Counts, err error) {
	w, err := newWorld(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	p.Say("%d nodes beat", len(w.AllNodes()))
	if err := w.launch(ctx, p); err != nil {
		return nil, err
	}
	// A grace period after its start a subject may act on all that it should.
	if err := wait.Pause(ctx, grace*5/4); err != nil {
		return nil, err
	}
	p.Say("the fault begins")
	if err := p.Scenario.act(ctx, w); err != nil {
		return nil, err
	}
	over := time.Now()
	if err := w.awaitEnd(ctx, over); err != nil {
		return nil, err
	}
	if err := w.running.Alive(); err != nil {
		return nil, err
	}
	rules := w.rules(over)
	if p.Scenario.findable {
		rules.Clear = w.FirstDeath()
	}
	nodes, err := w.history(ctx)
	if err != nil {
		return nil, err
	}
	judged, err := judge.Count(nodes, rules)
	if err != nil {
		return nil, err
	}
	w.tell(&judged)
	return &judged, nil
}

// launch starts the replicas, each when the one before works: the API server
// gives each new node a taint that the subject takes away.
func (w *world) launch(ctx context.Context, p *sidebyside.Play[scenario]) error {
	access, err := p.Plane.UserConfig(sidebyside.User, "system:masters")
	if err != nil {
		return err
	}
	if p.Scenario.proxied {
		if w.proxy, err = startProxy(access); err != nil {
			return err
		}
		access = w.proxy.access(access)
	}
	elect := "--leader-elect=" + strconv.FormatBool(p.Scenario.replicas > 1)
	if w.running, err = p.LaunchWith(access, p.Subject, elect); err != nil {
		return err
	}
	for n := 1; ; n++ {
		if err := w.running.Until(ctx, "the subject to take taints away", func(context.Context) (bool, error) {
			err := w.Witness.All(w.AllNodes(), (*witness.Node).WantUntainted)
			return err == nil, err
		}); err != nil || n == p.Scenario.replicas {
			return err
		}
		if err := w.running.Start(); err != nil {
			return err
		}
	}
}

// shown is how many wrong declarations are printed.
const shown = 5

// tell prints the verdict, and the first of the wrong declarations.
func (w *world) tell(counts *judge.Counts) {
	w.Say("%s", show(counts))
	for i, fault := range counts.Faults {
		if i == shown {
			w.Say("and %d more wrong declarations", len(counts.Faults)-shown)
			break
		}
		conditions := "the witness did not see it"
		for _, s := range w.Witness.Of(fault.Node).Unknown {
			if s.At.After(fault.At) {
				conditions = "Unknown: " + s.Conditions
				break
			}
		}
		w.Say("%s declared at %s after a silence of %.1fs and %.1fs without the API server; %s",
			fault.Node, fault.At.Format("15:04:05.000"), fault.Silence.Seconds(), fault.Down.Seconds(), conditions)
	}
}

// show is a verdict in a few words: what is not flawless in bold.
func show(n *judge.Counts) string {
	text := fmt.Sprintf("declared %s of %d living", bold(n.Wrong), n.Living)
	if n.Silent > 0 {
		text += fmt.Sprintf(" (and %d that were silent for as long)", n.Silent)
	}
	text += fmt.Sprintf(", %s tainted, %s pods evicted; missed %s of %d dead",
		bold(n.Tainted), bold(n.Evicted), bold(n.Missed), n.Dead)
	if n.Latest > 0 {
		text += fmt.Sprintf(", the last after %.1f s", n.Latest.Seconds())
	}
	if n.LatestDown > 0 {
		text += fmt.Sprintf(", %.1f s of them without the API server", n.LatestDown.Seconds())
	}
	return text
}

func bold(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("**%d**", n)
}

func faults(n *judge.Counts, _ bool) error {
	if n.Clean() {
		return nil
	}
	return errors.New(strings.ReplaceAll(show(n), "**", ""))
}

const legend = `Declared: nodes whose Ready became Unknown although they had been silent for
less than the grace period. Silence begins with the last beat that the API
server stored. For a living node it goes on only while the API server answers.
Tainted: living nodes with a NoExecute taint for it; pods evicted: of living
nodes. Missed: nodes that died during the fault and were not declared within
three grace periods. These begin with the end of the fault. Where the subject
runs and the API server answers it all the time (rolling, watches), they begin
with the death. The last of the dead was declared so long after its last stored
beat. Both subjects have a grace period of %.0f s, beats every %.0f s,
--node-monitor-period=5s, --kube-api-qps=200, --kube-api-burst=200 and
--node-eviction-rate=1.
`
