// Package blindness measures what subjects do while they cannot hear nodes that
// beat. It counts the nodes that are declared dead by ours
// (examples/nodelifecycle) and by kube-controller-manager's
// node-lifecycle-controller.
//
// A scenario stops the controller, kills the API server or makes it slow, delays
// and cuts watches, or silences some of many nodes for a while. A few nodes die
// meanwhile, so a program that declares no node at all is not flawless.
//
// None of what it judges by is the subject or its caches. The fleet knows when a
// node was cut off for good. The API server's audit log has each heartbeat that it
// has stored, each other write of a status and each deletion of a pod. A watch on
// a direct connection says when Ready became Unknown, and which taints nodes have.
// The criterion is in judge.go.
//
// Periods are shorter than the defaults: a grace period of 20 s, beats every 5 s.
// Ours gets --node-heartbeat-interval with that; upstream has no such flag. With
// one replica leader election is off, because a leader ends when it cannot renew
// its lease.
package blindness

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
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

const (
	// beat is how far apart the heartbeats of a node are.
	beat = 5 * time.Second
	// grace is how long a node may be silent.
	grace = 20 * time.Second
	// pod is the kind of pod that every node has one of: it leaves with the taint.
	pod = "web"
)

// Run measures blindness as the flags say.
func Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	return measurement().Run(ctx, args, out, diagnostics)
}

func measurement() *sidebyside.Measurement {
	// The rate of taints is ten times the default, so that a wrong declaration
	// shows in the pods within the minutes of a play.
	flags := []string{
		"--node-monitor-grace-period=" + grace.String(), "--node-startup-grace-period=" + grace.String(),
		"--node-monitor-period=5s", "--kube-api-qps=200", "--kube-api-burst=200",
		"--node-eviction-rate=1", "--secure-port=0", "--v=2",
	}
	var all []sidebyside.Scenario
	for _, s := range scenarios() {
		all = append(all, s.onStage())
	}
	return &sidebyside.Measurement{
		Name: "blindness", Help: help, Scenarios: all,
		Subjects: []sidebyside.Subject{
			sidebyside.OurSubject("nodelifecycle", append(flags, "--node-heartbeat-interval="+beat.String())...),
			sidebyside.Upstream("node-lifecycle-controller,taint-eviction-controller", flags...),
		},
		Repetitions: 1, Parallel: 2, Longest: 20 * time.Minute, // the longest scenario takes seven
		Legend: func() string { return fmt.Sprintf(legend, grace.Seconds(), beat.Seconds()) },
	}
}

// A scenario is a time in which a subject sees little, while nodes beat and
// some die.
type scenario struct {
	// name is what --scenario calls it, title what its table does.
	name, title string
	// zones has a number of nodes for each zone, whose name is one letter. The
	// last node of each zone dies.
	zones map[string]int
	// replicas is how many processes of the subject there are. More than one elect
	// a leader.
	replicas int
	// proxied says that the subject reaches the API server through a proxy.
	proxied bool
	// findable says that the subject runs and the API server answers it all the
	// time. So the dead are to be found during the fault, and not only after it.
	findable bool
	// steps play the fault until it is over.
	steps []step
}

// A step is one thing that is done to a world, and how long after the fault has
// begun.
type step struct {
	at time.Duration
	do func(context.Context, *world) error
}

// onStage is the scenario as the frame plays it.
func (s scenario) onStage() sidebyside.Scenario {
	return sidebyside.Scenario{Name: s.name, Title: func() string { return s.title }, Play: s.play}
}

// hundred are a hundred nodes.
func hundred() map[string]int { return map[string]int{"a": 40, "b": 30, "c": 30} }

// scenarios are those of the table. The longest come first, so that all
// together take less time when several are played at a time.
func scenarios() []scenario {
	const second = time.Second
	stopped := []step{{0, stopLeader}, {grace / 2, die}, {2 * grace, continueLeader}}
	return []scenario{
		outage("outage-5m", "kube-apiserver killed for five minutes", 5*time.Minute, 1),
		outage("outage-5m-takeover", "the same, and the leader killed meanwhile", 5*time.Minute, 2),
		{
			name: "rolling", title: "500 nodes, of which 25 at a time are silent for 12 s, all in turn",
			zones: map[string]int{"a": 200, "b": 150, "c": 150}, replicas: 1, findable: true,
			steps: []step{{0, roll}},
		},
		outage("outage-1m", "kube-apiserver killed for a minute", time.Minute, 1),
		outage("outage-1m-takeover", "the same, and the leader killed meanwhile", time.Minute, 2),
		{
			name: "watch-late", title: "watches 10 s late for a minute, and cut every 15 s",
			zones: hundred(), replicas: 1, proxied: true, findable: true,
			steps: []step{
				{0, delayWatches(10 * second)}, {10 * second, die},
				{15 * second, cutWatches}, {30 * second, cutWatches}, {45 * second, cutWatches},
				{60 * second, delayWatches(0)}, {60 * second, cutWatches},
			},
		},
		{
			name: "watch-silent", title: "nothing comes through watches for a minute, and none is cut",
			zones: hundred(), replicas: 1, proxied: true, findable: true,
			steps: []step{
				{0, delayWatches(time.Hour)}, {10 * second, die},
				{60 * second, delayWatches(0)}, {60 * second, cutWatches},
			},
		},
		{
			name: "slow", title: "each call but watches takes 4.5 s for 90 s, with leader election",
			zones: hundred(), replicas: 2, proxied: true, findable: true,
			steps: []step{{0, slowCalls(4500 * time.Millisecond)}, {10 * second, die}, {90 * second, slowCalls(0)}},
		},
		{
			name:  "stop-takeover",
			title: "the leader of two stopped (SIGSTOP) for two grace periods, then continued",
			zones: hundred(), replicas: 2, steps: stopped,
		},
		{
			name: "stop", title: "SIGSTOP for two grace periods, then SIGCONT",
			zones: hundred(), replicas: 1, steps: stopped,
		},
	}
}

// outage: kube-apiserver is killed and comes back after a time, with the same
// data. Nodes die while it is down and, of two replicas, the one that leads.
func outage(name, title string, length time.Duration, n int) scenario {
	steps := []step{{0, killAPIServer}, {3 * time.Second, die}, {length, restartAPIServer}}
	if n > 1 {
		steps = slices.Insert(steps, 2, step{3 * time.Second, killLeader})
	}
	return scenario{name: name, title: title, zones: hundred(), replicas: n, steps: steps}
}

// die cuts the doomed off for good.
func die(_ context.Context, w *world) error {
	w.Kill(doomed(w.AllNodes())...)
	return nil
}

func stopLeader(_ context.Context, w *world) error { return w.running.First().Pause() }

// continueLeader lets the leader run on. One that has lost its lease ends.
func continueLeader(_ context.Context, w *world) error {
	if w.scenario.replicas > 1 {
		w.running.Dismiss(w.running.First())
	}
	return w.running.First().Resume()
}

func killLeader(_ context.Context, w *world) error {
	w.running.Dismiss(w.running.First())
	w.running.First().Kill()
	return nil
}

func killAPIServer(_ context.Context, w *world) error {
	w.down.from = time.Now()
	err := w.Plane.KillAPIServer()
	w.down.until = time.Now() // at least
	return err
}

// restartAPIServer starts the API server again. It is up from the first beat
// that it has answered: it stores beats before it says that it is ready.
func restartAPIServer(ctx context.Context, w *world) error {
	if err := w.Plane.RestartAPIServer(ctx); err != nil {
		return err
	}
	up := time.Now()
	beats, err := fleet.BeatsOf(ctx, w.Plane, w.down.until)
	w.down.until = firstAnswer(beats, up)
	return err
}

// firstAnswer is when the first of some beats was answered, or before if none
// was before that.
func firstAnswer(beats map[string][]fleet.Beat, before time.Time) time.Time {
	for _, of := range beats {
		for _, beat := range of {
			before = earliest(before, beat.Answered)
		}
	}
	return before
}

// delayWatches makes what watches answer from now on come so late.
func delayWatches(delay time.Duration) func(context.Context, *world) error {
	return func(_ context.Context, w *world) error {
		w.proxy.delay.Store(int64(delay))
		return nil
	}
}

// slowCalls makes every call but a watch take so long from now on.
func slowCalls(latency time.Duration) func(context.Context, *world) error {
	return func(_ context.Context, w *world) error {
		w.proxy.latency.Store(int64(latency))
		return nil
	}
}

// cutWatches cuts watches, and what they hold back is lost.
func cutWatches(_ context.Context, w *world) error {
	w.proxy.cut()
	return nil
}

// roll makes 25 nodes at a time silent, each for less than its grace period.
// Others die meanwhile.
func roll(ctx context.Context, w *world) error {
	// With the beat before and the one after it is silent for less than grace.
	const batch, silence = 25, grace * 3 / 5
	for n, cut := range slices.Collect(slices.Chunk(lasting(w.AllNodes()), batch)) {
		w.Cut(cut...)
		if n == 2 {
			if err := die(ctx, w); err != nil {
				return err
			}
		}
		if err := wait.Pause(ctx, silence); err != nil {
			return err
		}
		w.Restore(cut...)
	}
	return nil
}

// doomed are those of some nodes that die in a scenario: the last of each zone.
// A zone is the first letter of a name.
func doomed(nodes []string) []string {
	last := map[byte]string{}
	for _, name := range nodes {
		last[name[0]] = max(last[name[0]], name)
	}
	return slices.Sorted(maps.Values(last))
}

// lasting are the other nodes.
func lasting(nodes []string) []string {
	die := doomed(nodes)
	return slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return slices.Contains(die, name) })
}

// A world is a fleet of nodes that beat, the subject, and what stands between
// it and the API server.
type world struct {
	*sidebyside.Stage
	*fleet.World
	scenario scenario
	running  *sidebyside.Processes // the first leads from the start
	proxy    *proxy                // nil when the subject has a direct connection
	down     span                  // when the API server was down
	over     time.Time             // when the fault was
}

// play plays the fault, waits for what follows from it, and counts.
func (s scenario) play(ctx context.Context, stage *sidebyside.Stage) (record *sidebyside.Record, err error) {
	w := &world{Stage: stage, scenario: s}
	kind := fleet.Pod{Name: pod, Tolerations: fleet.Tolerate(new(int64(0)))}
	if w.World, err = fleet.NewWorld(ctx, stage, s.zones, beat, kind); err != nil {
		return nil, err
	}
	w.Say("%d nodes beat", len(w.AllNodes()))
	// A grace period after its start a subject may act on all that it should.
	settle := sidebyside.Pause(grace * 5 / 4)
	if err := sidebyside.InOrder(w.launch, settle, w.playFault, w.awaitEnd)(ctx); err != nil {
		return nil, err
	}
	f := fault{down: w.down, clear: w.over, end: time.Now()}
	if s.findable {
		f.clear = w.FirstDeath()
	}
	nodes, err := w.Lives(ctx, pod)
	if err != nil {
		return nil, err
	}
	counts, err := count(nodes, f)
	if err != nil {
		return nil, err
	}
	record = counts.record()
	w.Say("%s", record)
	return record, nil
}

// playFault does the steps of the scenario, each at its time.
func (w *world) playFault(ctx context.Context) error {
	w.Say("the fault begins")
	begun := time.Now()
	for _, step := range w.scenario.steps {
		if err := wait.PauseUntil(ctx, begun.Add(step.at)); err != nil {
			return err
		}
		if err := step.do(ctx, w); err != nil {
			return err
		}
	}
	w.over = time.Now()
	return nil
}

// launch starts a replica, and the others when it works: the API server gives
// each new node a taint that the subject takes away. So the first leads.
func (w *world) launch(ctx context.Context) error {
	access, err := w.Access(sidebyside.User)
	if err != nil {
		return err
	}
	if w.scenario.proxied {
		if w.proxy, err = startProxy(access); err != nil {
			return err
		}
		w.AtEnd(w.proxy.stop)
		access = w.proxy.access(access)
	}
	elect := "--leader-elect=" + strconv.FormatBool(w.scenario.replicas > 1)
	if w.running, err = w.LaunchWith(access, w.Subject.Name, elect); err != nil {
		return err
	}
	if err := w.running.Until(ctx, "the subject to take taints away", func(context.Context) error {
		return w.Witness.All(w.AllNodes(), (*witness.Node).WantUntainted)
	}); err != nil {
		return err
	}
	for range w.scenario.replicas - 1 {
		if err := w.running.Start(); err != nil {
			return err
		}
	}
	return nil
}

// awaitEnd waits until the dead are Unknown or given up, and long enough for
// late declarations of the living.
func (w *world) awaitEnd(ctx context.Context) error {
	if err := wait.PauseUntil(ctx, w.over.Add(2*grace)); err != nil {
		return err
	}
	const given = 6 * grace // so that the table has the time of one that is declared late
	dead := doomed(w.AllNodes())
	for w.Witness.All(dead, (*witness.Node).WantUnknown) != nil && time.Since(w.over) <= given {
		if err := wait.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}
