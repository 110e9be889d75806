package nodehealth_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// world is a few nodes and leases as an API server has them, the monitor that
// observes them, and the reference next to it.
type world struct {
	t       *testing.T
	step    int
	now     time.Time
	monitor *nodehealth.NodeMonitor
	ref     *reference
	names   []string
	nodes   map[string]*stored
	leases  map[string]*stored
	uids    int
	acting  []nodehealth.NodeTask
	events  map[string]int
}

// stored is a node or a lease.
type stored struct {
	uid      string
	reports  int       // of the kubelet
	clock    time.Time // what the node has written last
	declared string    // the reason, while an observer's Unknown stands
	holder   string
	noise    int // what neither side cares about
}

var playedConfigs = []nodehealth.Config{
	{Retry: timedqueue.Backoff{Initial: 2 * time.Second, Max: 16 * time.Second}},
	{
		RecoveryPeriod: 20 * time.Second,
		Retry:          timedqueue.Backoff{Initial: 2 * time.Second, Max: 16 * time.Second},
	},
	{
		GracePeriod: 5 * time.Second, StartupGracePeriod: 9 * time.Second,
		RecoveryPeriod: 12 * time.Second,
		Retry:          timedqueue.Backoff{Initial: 3 * time.Second, Max: 40 * time.Second},
	},
	{
		GracePeriod: 5 * time.Second, StartupGracePeriod: 9 * time.Second,
		Retry: timedqueue.Backoff{Initial: 3 * time.Second, Max: 40 * time.Second},
	},
	{
		GracePeriod: 9 * time.Second, StartupGracePeriod: 4 * time.Second,
		Retry: timedqueue.Backoff{Initial: time.Second, Max: time.Second},
	},
	{
		GracePeriod: 6 * time.Second, StartupGracePeriod: 10 * time.Minute,
		Retry: timedqueue.Backoff{Initial: time.Minute, Max: time.Hour},
	},
}

func newWorld(t *testing.T, choice byte) *world {
	config := playedConfigs[int(choice)%len(playedConfigs)]
	monitor, err := nodehealth.NewNodeMonitor(config, observerEpoch)
	if err != nil {
		t.Fatal(err)
	}
	ref := &reference{
		graces: [2]time.Duration{config.StartupGracePeriod, config.GracePeriod}, latest: observerEpoch,
		recovery: config.RecoveryPeriod,
		first:    config.Retry.Initial, most: config.Retry.Max,
	}
	if config.GracePeriod == 0 {
		ref.graces = [2]time.Duration{startupGrace, monitorGrace}
	}
	return &world{
		t: t, now: observerEpoch, monitor: monitor, ref: ref, names: []string{"a", "b", "c", "d", "e"},
		nodes: map[string]*stored{}, leases: map[string]*stored{}, events: map[string]int{},
	}
}

func (w *world) fail(format string, arguments ...any) {
	w.t.Helper()
	w.t.Fatalf(
		"step %d at %v: %s", w.step, w.now.Sub(observerEpoch), fmt.Sprintf(format, arguments...),
	)
}

// showNode delivers a node as it is, as an informer would.
func (w *world) showNode(name string) {
	s := w.nodes[name]
	node := bareNode(name, s.uid)
	node.CreationTimestamp = metav1.NewTime(nodeClock)
	node.ResourceVersion = fmt.Sprint(s.noise)
	if s.reports > 0 {
		node = reportingNode(name, s.uid, s.clock)
	}
	if s.declared != "" {
		if s.reports == 0 {
			node = unknownNode(name, s.uid, s.declared, node.CreationTimestamp.Time)
		} else {
			node = unknownNode(name, s.uid, s.declared, s.clock)
		}
	}
	w.monitor.ObserveNode(w.now, node)
	w.ref.observeNode(w.now, name, s.uid, s.reports, s.declared != "")
}

func (w *world) showLease(name string) {
	s := w.leases[name]
	lease := renewedLease(name, s.clock)
	lease.Spec.HolderIdentity = &s.holder
	lease.ResourceVersion = fmt.Sprint(s.noise)
	if s.clock.IsZero() {
		lease.Spec.RenewTime = nil
	}
	w.monitor.ObserveLease(w.now, lease)
	w.ref.observeLease(w.now, name, s.holder+s.clock.UTC().String())
}

// tick returns another time than before on a clock that knows no direction.
func tick(clock time.Time, detail byte) time.Time {
	by := time.Duration(int8(detail)) * time.Minute
	if by == 0 {
		by = time.Second
	}
	return clock.Add(by)
}

// create makes a node: bare, reporting, or declared by an observer before us.
func (w *world) create(name string, detail byte) {
	w.uids++
	s := &stored{uid: fmt.Sprint("uid", w.uids), clock: nodeClock}
	switch detail % 4 {
	case 1, 2:
		s.reports = 1
	case 3:
		s.declared = nodehealth.ReasonNeverReported
		if detail&4 != 0 {
			s.reports, s.declared = 1, nodehealth.ReasonStopped
		}
	}
	w.nodes[name] = s
	w.showNode(name)
}

func (w *world) do(op, key, detail byte) {
	name := w.names[int(key)%len(w.names)]
	node, lease := w.nodes[name], w.leases[name]
	switch op % 20 {
	case 0, 1, 2: // renew
		if lease == nil {
			lease = &stored{clock: nodeClock, holder: name}
			w.leases[name] = lease
		} else if detail%8 != 0 {
			lease.clock = tick(lease.clock, detail)
		} else {
			lease.holder += "+"
		}
		w.showLease(name)
	case 3: // nothing of importance
		if lease != nil {
			lease.noise++
			w.showLease(name)
		}
	case 4, 5:
		if node == nil {
			w.create(name, detail)
			return
		}
		node.reports++
		node.clock, node.declared = tick(node.clock, detail), ""
		w.showNode(name)
	case 6:
		if node != nil {
			node.noise++
			w.showNode(name)
		}
	case 7: // another observer declares it
		if node != nil {
			w.declare(name)
		}
	case 8:
		if node != nil {
			delete(w.nodes, name)
			w.monitor.ForgetNode(w.now, name)
			w.ref.forgetNode(name)
		}
	case 9: // recreated, and the deletion is not always seen
		if node != nil && detail&128 != 0 {
			w.monitor.ForgetNode(w.now, name)
			w.ref.forgetNode(name)
			if detail&64 != 0 { // or it was there all the time
				w.showNode(name)
				return
			}
		}
		w.create(name, detail)
	case 10:
		delete(w.leases, name)
		w.monitor.ForgetLease(w.now, name)
		w.ref.forgetLease(name)
	case 11:
		w.monitor.MarkSynced()
		w.ref.synced = true
	case 12, 18, 19:
		w.finish(key, playedResults[int(detail)%len(playedResults)])
	case 13:
		w.now = w.now.Add(time.Duration(detail) * 100 * time.Millisecond)
	case 14:
		w.now = w.now.Add(time.Duration(detail) * time.Second)
	case 15:
		w.now = w.now.Add(time.Duration(int8(detail)) * time.Second)
	case 16: // another client takes the declaration back
		if node != nil {
			node.declared = ""
			w.showNode(name)
		}
	case 17: // a probe of the caller's
		w.monitor.Heartbeat(w.now, name)
		w.ref.see(w.now)
		w.ref.beat(w.ref.node(name))
	}
}

var playedResults = []nodehealth.Result{
	resultDone, resultDone, resultAlive, resultFailed, {},
	{Outcome: nodehealth.OutcomeDone, Err: errors.New("no")}, {Outcome: "of another kind"},
}

func (w *world) declare(name string) {
	s := w.nodes[name]
	s.declared = nodehealth.ReasonStopped
	if s.reports == 0 {
		s.declared = nodehealth.ReasonNeverReported
	}
	w.showNode(name)
}

func (w *world) finish(key byte, result nodehealth.Result) {
	if len(w.acting) == 0 {
		return
	}
	i := int(key) % len(w.acting)
	silent := w.acting[i]
	w.acting = append(w.acting[:i], w.acting[i+1:]...)
	outcome := result.Outcome
	if result.Err != nil {
		outcome = nodehealth.OutcomeFailed
	}
	s := w.nodes[silent.Key]
	declares := silent.State == nodehealth.StateSilent && outcome == nodehealth.OutcomeDone
	if declares && key < 128 && s != nil && s.uid == string(silent.UID) {
		w.declare(silent.Key) // the write is seen before its answer
	}
	w.monitor.Finish(w.now, silent, result)
	w.ref.finish(w.now, silent.Key, outcome)
	w.events[fmt.Sprintf("%s %s", silent.State, outcome)]++
}

// poll starts whatever can be started and compares it with the reference's
// scan.
func (w *world) poll() {
	want := w.ref.scan(w.now)
	for {
		task, ok := w.monitor.Start(w.now)
		if !ok {
			break
		}
		n, state := w.ref.node(task.Key), want[task.Key]
		if task.State != state {
			w.fail("%+v was handed out, want %q", task, state)
		}
		if string(task.UID) != n.uid || !task.Since.Equal(n.since) ||
			task.GracePeriod != w.ref.grace(n) || task.Attempts != n.failures {
			w.fail("handed out %+v, want %+v", task, n)
		}
		if state == nodehealth.StateSilent && n.silent {
			w.events["silent again"]++
		}
		w.ref.start(n, state)
		w.acting = append(w.acting, task)
		delete(want, task.Key)
		w.events["handed out"]++
	}
	for name := range want {
		w.fail("%s was not handed out", name)
	}
}

func (w *world) compare() {
	if got, want := w.monitor.Len(), w.ref.len(); got != want {
		w.fail("%d names are known, want %d", got, want)
	}
	for _, name := range w.names {
		n := w.ref.node(name)
		at, known := w.monitor.LastHeartbeat(name)
		if known != n.exists || known && !at.Equal(n.since) {
			w.fail("%s last beat at %v (%v), want %v (%v)", name, at, known, n.since, n.exists)
		}
		if heard := w.monitor.HasHeartbeat(name); heard != n.heard {
			w.fail("%s heard: %v", name, heard)
		}
		if silent := w.monitor.Silent(name); silent != n.countsAsSilent() {
			w.fail("%s silent: %v", name, silent)
		}
	}
	next, ok := w.monitor.Next(w.now)
	w.ref.see(w.now)
	want, wanted := w.ref.next()
	if ok != wanted || next.After(want) {
		w.fail("next poll at %v (%v), want %v (%v)", next, ok, want, wanted)
	}
}

// play performs a script: a byte for the config, then three for each step.
func play(t *testing.T, script []byte) map[string]int {
	if len(script) == 0 {
		return nil
	}
	w := newWorld(t, script[0])
	for op := script[1:]; len(op) >= 3; op = op[3:] {
		w.step++
		w.do(op[0], op[1], op[2])
		w.compare()
		if op[0] < 128 { // not every time: entries may be long due
			w.poll()
			if next, ok := w.monitor.Next(w.now); ok && !next.After(w.ref.latest) {
				w.fail("nothing can start, and the next poll is at %v", next)
			}
		}
	}
	for _, name := range w.names {
		w.monitor.ForgetNode(w.now, name)
		w.monitor.ForgetLease(w.now, name)
	}
	if w.monitor.Len() != 0 {
		w.fail("%d names are left", w.monitor.Len())
	}
	for _, silent := range w.acting {
		w.monitor.Finish(w.now, silent, resultFailed)
	}
	if _, ok := w.monitor.Next(w.now); ok {
		w.fail("something is left in the heap")
	}
	return w.events
}

func TestRandomSchedulesAgreeWithTheReference(t *testing.T) {
	const seeds = uint64(4000)
	var seed uint64
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	events := map[string]int{}
	for ; seed < seeds; seed++ {
		random := rand.New(rand.NewPCG(seed, 7))
		script := make([]byte, 1+3*200)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		for event, n := range play(t, script) {
			events[event] += n
		}
	}
	for _, event := range []string{
		"handed out", "silent again",
		"Silent Done", "Silent Alive", "Silent Failed", "Alive Done", "Alive Failed",
	} {
		if events[event] < int(seeds) {
			t.Errorf("%q happened %d times in %d runs: they prove too little", event, events[event], seeds)
		}
	}
}

func FuzzMonitor(f *testing.F) {
	f.Add([]byte{0, 4, 0, 0, 0, 0, 0, 11, 0, 0, 14, 0, 60, 12, 0, 2, 14, 0, 3, 0, 0, 1, 14, 0, 49})
	f.Add(
		[]byte{
			3, 4, 0, 0, 4, 0, 1, 14, 0, 7, 12, 0, 2, 0, 0, 1, 14, 0, 7, 15, 0, 200, 8, 0, 0, 9, 0, 131,
		},
	)
	f.Fuzz(func(t *testing.T, script []byte) {
		play(t, script[:min(len(script), 1+3*300)])
	})
}
