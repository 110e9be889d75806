package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// settleAfter is how long clients need to reconnect and to list when a fault of
// the API server or of watches has ended.
const settleAfter = 3 * time.Second

// plan plans a step of the script.
func (s *Simulation) plan(number int, step *scenario.Step) {
	random := s.world.Random(fmt.Sprintf("script/%d", number))
	s.note(step.At.D(), network.FaultBegan, step)
	if step.For > 0 {
		s.note(step.At.D()+step.For.D()+step.RecoverOver.D(), network.FaultEnded, step)
	}
	switch {
	case step.Silence != nil:
		s.toMachines(step, step.Silence, random, (*model.Machine).Silence)
	case step.NotReady != nil:
		s.toMachines(step, step.NotReady, random, (*model.Machine).Fail)
	case step.Pressure != nil:
		s.toMachines(step, step.Pressure, random, (*model.Machine).Press)
	case step.Delete != nil:
		s.toMachines(step, step.Delete, random, (*model.Machine).Unregister)
	case step.Flap != nil:
		s.flap(step, &step.Flap.Nodes, step.Flap.Down, step.Flap.Up, random, (*model.Machine).Silence)
	case step.FlapReady != nil:
		s.flap(step, &step.FlapReady.Nodes, step.FlapReady.NotReady, step.FlapReady.Ready, random, (*model.Machine).Fail)
	case step.NodeClocks != nil:
		s.toMachines(step, &step.NodeClocks.Nodes, random,
			func(m *model.Machine) func() { return m.StepClock(step.NodeClocks.By.D()) })
	case step.ClockDrift != nil:
		s.toMachines(step, &step.ClockDrift.Nodes, random,
			func(m *model.Machine) func() { return s.drift(step.ClockDrift, m) })
	case step.Hostile != nil:
		s.toMachines(step, &step.Hostile.Nodes, random, func(m *model.Machine) func() { return s.hostile(step.Hostile, m) })
	case step.Move != nil:
		s.toMachines(step, &step.Move.Nodes, random, func(m *model.Machine) func() { return s.edits.move(m, step.Move.Zone) })
	case step.Cordon != nil:
		s.toMachines(step, step.Cordon, random, s.edits.cordon)
	case step.Taint != nil:
		s.toMachines(step, &step.Taint.Nodes, random,
			func(m *model.Machine) func() { return s.edits.taint(m, s.taint(step.Taint)) })
	case step.Touch != nil:
		s.toMachines(step, step.Touch, random, s.touch)
	default:
		s.planForPodsAndControllers(step, random)
	}
}

func (s *Simulation) planForPodsAndControllers(step *scenario.Step, random *rand.Rand) {
	switch {
	case step.DeletePods != nil:
		s.world.At(step.At.D(), func() {
			for _, pod := range s.pods(step.DeletePods, random) {
				s.world.DeletePod(pod.Name)
			}
		})
	case step.Tolerate != nil:
		s.world.At(step.At.D(), func() { s.tolerate(step.Tolerate, random) })
	case step.RollOut != nil:
		s.world.At(step.At.D(), func() { s.daemons.rollOut(step.RollOut, step.At.D()) })
	case step.Crash != nil:
		s.toReplica(step, step.Crash, s.crash(step))
	case step.Pause != nil:
		s.toReplica(step, step.Pause, pause)
	case step.Suspend != nil:
		s.toReplica(step, step.Suspend, suspend)
	case step.Halt != nil:
		s.world.At(step.At.D(), func() {
			if end := s.world.Halt(); step.For > 0 {
				s.world.After(step.For.D(), end)
			}
		})
	case step.ControllerClock != nil:
		s.toReplica(step, &step.ControllerClock.Process, func(r *Replica) func() {
			r.skew += step.ControllerClock.By.D()
			return func() { r.skew -= step.ControllerClock.By.D() }
		})
	default:
		s.toControllers(step)
	}
}

// toControllers plans a fault of the API server or of what controllers see of
// it.
func (s *Simulation) toControllers(step *scenario.Step) {
	begin, settle := s.ofAPI(step)
	happen := func() {
		settled := func() {}
		if !onlyKubelets(step) && (step.APILatency == nil || !s.bears(step.APILatency)) {
			settled = s.calm.disturb()
		}
		end := begin()
		if step.For > 0 {
			s.world.After(step.For.D(), end)
			s.world.After(step.For.D()+settle, settled)
		}
	}
	if beforeAll(step) {
		happen()
		return
	}
	s.world.At(step.At.D(), happen)
}

// ofAPI returns what begins such a fault and returns its end, and how long
// controllers need after that.
func (s *Simulation) ofAPI(step *scenario.Step) (begin func() (end func()), settle time.Duration) {
	settle = settleAfter
	switch {
	case step.APIDown != nil:
		clients, kubelets := step.APIDown.For != scenario.Kubelets, step.APIDown.For != scenario.Controllers
		begin = func() func() { return s.world.Down(clients, kubelets) }
	case step.APIBlink != nil:
		begin = func() func() { return s.blink(step.APIBlink) }
	case step.ReadOnlyStore != nil:
		begin = s.world.ReadOnlyStore
	case step.StaleWatch != nil:
		settle += step.StaleWatch.Delay.Max.D()
		begin = func() func() {
			return s.world.DelayWatches(span(step.StaleWatch.Delay), matches(&step.StaleWatch.Watch))
		}
	case step.BrokenWatch != nil:
		begin = func() func() { return s.world.BreakWatches(matches(step.BrokenWatch)) }
	case step.SplitBrain != nil:
		begin = s.split
	default:
		begin, settle = s.ofCalls(step)
	}
	return begin, settle
}

// ofCalls is ofAPI for what becomes of single calls.
func (s *Simulation) ofCalls(step *scenario.Step) (begin func() (end func()), settle time.Duration) {
	settle = settleAfter
	switch {
	case step.SlowLists != nil:
		settle = step.SlowLists.Max.D() + settleAfter
		begin = func() func() { return s.world.SlowLists(span(*step.SlowLists)) }
	case step.APIErrors != nil:
		begin = func() func() { return s.failCalls(step.APIErrors) }
	case step.APILatency != nil:
		settle = network.CallTimeout
		begin = func() func() { return s.world.SlowCalls(span(*step.APILatency)) }
	case step.LostAnswers != nil:
		settle = network.CallTimeout
		begin = func() func() { return s.world.LoseAnswers(step.LostAnswers.Share) }
	}
	return begin, settle
}

// failCalls makes calls of controllers fail, and of kubelets if it says so.
func (s *Simulation) failCalls(errors *scenario.APIErrors) (end func()) {
	calls := s.world.FailCalls(errors.Share, errors.Codes, verbs(errors.Verbs)...)
	if !errors.Kubelets {
		return calls
	}
	renewals := s.world.FailRenewals(errors.Share)
	return func() {
		calls()
		renewals()
	}
}

// bears reports whether controllers can act with such a latency: slowly, as
// long as no call fails for it. A leader gives up a call about its lease first.
func (s *Simulation) bears(latency *scenario.Range) bool {
	election := s.election()
	return latency.Max.D() < election.CallTimeout()
}

// onlyKubelets reports whether a step cuts off the kubelets alone: controllers
// can act meanwhile.
func onlyKubelets(step *scenario.Step) bool {
	return step.APIDown != nil && step.APIDown.For == scenario.Kubelets ||
		step.APIBlink != nil && step.APIBlink.For == scenario.Kubelets
}

// beforeAll reports whether a step must hold before the processes start: they
// list at once.
func beforeAll(step *scenario.Step) bool { return step.SlowLists != nil && step.At == 0 }

// blink makes the API server go away and come back in turns.
func (s *Simulation) blink(blink *scenario.APIBlink) (end func()) {
	clients, kubelets := blink.For != scenario.Kubelets, blink.For != scenario.Controllers
	ended, isDown, up := false, false, func() {}
	var down func()
	down = func() {
		if ended {
			return
		}
		isDown, up = true, s.world.Down(clients, kubelets)
		s.world.After(blink.Down.D(), func() {
			if !isDown {
				return
			}
			isDown = false
			up()
			s.world.After(blink.Up.D(), down)
		})
	}
	down()
	return func() {
		ended = true
		if isDown {
			isDown = false
			up()
		}
	}
}

func (s *Simulation) note(at time.Duration, kind network.NoteKind, step *scenario.Step) {
	s.world.At(at, func() { s.world.Note(network.Note{Kind: kind, Text: step.String()}) })
}

// toMachines hits the nodes of a step, one after the other if it says so.
func (s *Simulation) toMachines(step *scenario.Step, which *scenario.Nodes, random *rand.Rand,
	hit func(*model.Machine) (restore func())) {
	hits := s.machines(which, random)
	for i, m := range hits {
		begin := step.At.D() + part(step.Over.D(), i, len(hits))
		s.world.At(begin, func() {
			s.strike(step, m)
			restore := hit(m)
			if step.For > 0 {
				s.world.At(step.At.D()+step.For.D()+part(step.RecoverOver.D(), i, len(hits)), restore)
			}
		})
	}
}

// strike records that a step begins to hit a machine.
func (s *Simulation) strike(step *scenario.Step, m *model.Machine) {
	nodes := s.struck[step]
	if nodes == nil {
		nodes = make(map[string]time.Duration)
		s.struck[step] = nodes
	}
	if _, again := nodes[m.Name]; !again {
		nodes[m.Name] = s.world.Elapsed()
	}
}

// part is where the i-th of n falls in a time.
func part(of time.Duration, i, n int) time.Duration {
	if n < 2 {
		return 0
	}
	return time.Duration(float64(of) * float64(i) / float64(n-1))
}

// machines returns the machines that a step is about.
func (s *Simulation) machines(which *scenario.Nodes, random *rand.Rand) []*model.Machine {
	var all []*model.Machine
	for _, m := range s.world.Machines() {
		if len(which.Names) > 0 && !slices.Contains(which.Names, m.Name) ||
			which.Zone != "" && which.Zone != m.Zone ||
			which.Pool != "" && which.Pool != m.Pool ||
			which.Rack != nil && m.Rack != fmt.Sprintf("%s/%d", m.Zone, *which.Rack) {
			continue
		}
		all = append(all, m)
	}
	return sample(all, which.Count, which.Share, random)
}

// sample returns so many of all, or such a share of them, at random.
func sample[T any](all []T, count int, share float64, random *rand.Rand) []T {
	if share > 0 {
		count = max(1, int(math.Round(share*float64(len(all)))))
	}
	if count == 0 || count >= len(all) {
		return all
	}
	chosen := random.Perm(len(all))[:count]
	slices.Sort(chosen)
	var some []T
	for _, i := range chosen {
		some = append(some, all[i])
	}
	return some
}

func (s *Simulation) pods(which *scenario.Pods, random *rand.Rand) []*corev1.Pod {
	return sample(s.world.Workload(which.Workload).Pods(), which.Count, which.Share, random)
}

// flap hits nodes and restores them in turns, each for its time, until the end
// of the step.
func (s *Simulation) flap(step *scenario.Step, which *scenario.Nodes, hitFor, restoredFor scenario.Duration,
	random *rand.Rand, hit func(*model.Machine) (restore func())) {
	end, down, up := step.At.D()+step.For.D(), hitFor.D(), restoredFor.D()
	for _, m := range s.machines(which, random) {
		var fall func()
		fall = func() {
			if s.world.Elapsed() >= end {
				return
			}
			s.strike(step, m)
			restore := hit(m)
			s.world.At(min(s.world.Elapsed()+down, end), func() {
				restore()
				s.world.After(up, fall)
			})
		}
		s.world.At(step.At.D()+time.Duration(random.Int64N(int64(down+up))), fall)
	}
}

func (s *Simulation) touch(m *model.Machine) (none func()) {
	m.Edit(func(node *corev1.Node) {
		node.Annotations = map[string]string{"outage.example/touched": s.world.Now().Format(time.RFC3339Nano)}
	})
	return func() {}
}

func (s *Simulation) tolerate(step *scenario.Tolerate, random *rand.Rand) {
	for _, workload := range s.scenario.Cluster.Workloads {
		if workload.Name != step.Pods.Workload {
			continue
		}
		workload.TolerationSeconds = &step.Seconds
		for _, pod := range s.pods(&step.Pods, random) {
			s.world.Tolerate(pod.Name, tolerations(&workload))
		}
	}
}

// toReplica hits the process of a step: the one that it names, or the leader.
func (s *Simulation) toReplica(step *scenario.Step, which *scenario.Process, hit func(*Replica) (restore func())) {
	s.world.At(step.At.D(), func() {
		settled := s.calm.disturb()
		restore := hit(s.replica(which))
		if step.For > 0 {
			s.world.After(step.For.D(), restore)
			s.world.After(step.For.D()+settleAfter, settled)
		} else {
			s.world.After(settleAfter, settled)
		}
	})
}

func (s *Simulation) replica(which *scenario.Process) *Replica {
	if which.Replica != nil {
		return s.replicas[*which.Replica]
	}
	for _, r := range s.replicas {
		if !r.gone() && r.election.Leads() {
			return r
		}
	}
	return s.replicas[0]
}

func (s *Simulation) crash(step *scenario.Step) func(*Replica) func() {
	return func(r *Replica) func() {
		r.stop("crash")
		if step.For == 0 {
			s.world.After(s.scenario.Controller.RestartAfter.D(), r.restart)
		}
		return r.restart
	}
}

func pause(r *Replica) (resume func()) {
	if r.gone() {
		return func() {}
	}
	client := r.process
	client.Pause()
	return client.Resume
}

// suspend stops a process and what its machine measures durations with. A
// process that starts meanwhile is on another machine.
func suspend(r *Replica) (resume func()) {
	if r.gone() {
		return func() {}
	}
	client, goOn := r.process, pause(r)
	client.Suspend()
	return func() {
		if slept := client.Unsuspend(); client == r.process {
			r.suspended += slept
		}
		goOn()
	}
}

// halts reports whether the leader is ever halted. If it is not, no process
// watches its lease: the watch would show nothing, and take part in the random
// delays.
func (s *Simulation) halts() bool {
	return slices.ContainsFunc(s.scenario.Script, func(step scenario.Step) bool { return step.Halt != nil })
}

// split makes every process act as if it led.
func (s *Simulation) split() (end func()) {
	s.splitBrain++
	for _, r := range s.replicas {
		if !r.gone() {
			r.process.Wake()
		}
	}
	s.calm.Noted(network.Note{})
	return func() {
		s.splitBrain--
		s.calm.Noted(network.Note{}) // another one may act now
	}
}

func verbs(names []string) []network.Verb {
	var all []network.Verb
	for _, name := range names {
		all = append(all, network.Verb(name))
	}
	return all
}

func matches(which *scenario.Watch) func(*network.Client, network.Kind) bool {
	return func(client *network.Client, kind network.Kind) bool {
		return (len(which.Kinds) == 0 || slices.Contains(which.Kinds, kind.String())) &&
			(which.Replica == nil || client.Name == replicaName(*which.Replica))
	}
}
