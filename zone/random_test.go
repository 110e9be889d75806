package zone_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/kubelife/lifecycle/zone"
)

const randomKeys = 10

// play performs operations on a tracker and on the reference and compares them.
// The first byte chooses the rules, then each operation takes three. It counts
// the transitions between phases.
func play(t *testing.T, script []byte) map[[2]zone.Phase]int {
	moves := map[[2]zone.Phase]int{}
	if len(script) == 0 {
		return moves
	}
	r := allRules[int(script[0])%len(allRules)]
	tracker, err := zone.NewTracker[int](r.config, epoch)
	if err != nil {
		t.Fatal(err)
	}
	ref := newReference(r, epoch)
	now := epoch
	for step, op := 0, script[1:]; len(op) >= 3; step, op = step+1, op[3:] {
		key, detail := int(op[1])%randomKeys, op[2]
		switch op[0] % 16 {
		case 0, 1, 2, 3, 4, 5, 6:
			is := zone.Node{Zone: []string{"", "a", "b", "c"}[detail%4], Ready: detail&4 != 0,
				Unconfirmed: detail&8 != 0, Excluded: detail>>5 == 0}
			tracker.Observe(now, key, is)
			ref.observe(now, key, is)
		case 7: // the cluster is cut off, or comes back
			for i, n := range ref.nodes {
				is := n.is
				is.Ready = detail&1 != 0 && i%2 == 0
				is.Unconfirmed = detail&2 != 0 && i%3 == 0
				tracker.Observe(now, n.key, is)
				ref.observe(now, n.key, is)
			}
		case 8:
			tracker.Forget(now, key)
			ref.forget(now, key)
		case 12:
			switch {
			case detail < 64:
				tracker.Stabilize(now)
				ref.stabilize(now)
			case detail < 128:
				since := now.Add(-time.Duration(detail-64) * time.Second)
				tracker.Unconfirm(now, since)
				ref.unconfirm(now, since)
			}
		case 9, 10, 11:
			evaluation := tracker.Evaluate(now)
			moves[[2]zone.Phase{evaluation.From, evaluation.Phase}]++
			compareEvaluations(t, step, evaluation, ref.evaluate(now))
			if again := tracker.Evaluate(now); again.Changed() {
				t.Fatalf("step %d: evaluated twice and said %+v", step, again)
			}
		case 13:
			now = now.Add(time.Duration(detail) * 50 * time.Millisecond)
		case 14:
			now = now.Add(time.Duration(detail) * time.Second / 4)
		case 15: // also backwards
			now = now.Add(time.Duration(int8(detail)) * time.Second / 4)
		}
		compareTrackers(t, step, tracker, ref)
	}
	for key := range randomKeys {
		tracker.Forget(now, key)
		ref.forget(now, key)
	}
	compareEvaluations(t, -1, tracker.Evaluate(now), ref.evaluate(now))
	if zones := tracker.Zones(); len(zones) > 0 {
		t.Fatalf("all is forgotten but %+v", zones)
	}
	return moves
}

func compareEvaluations(t *testing.T, step int, got, want zone.Evaluation) {
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("step %d: evaluated\n%+v, want\n%+v", step, got, want)
	}
}

func compareTrackers(t *testing.T, step int, tracker *zone.Tracker[int], ref *reference) {
	zones := tracker.Zones()
	if want := ref.zones(); !reflect.DeepEqual(zones, want) {
		t.Fatalf("step %d: zones\n%+v, want\n%+v", step, zones, want)
	}
	counted, want := 0, 0
	for _, status := range zones {
		counted += status.Counts.Size()
		if status.Rate != 0 && tracker.Phase() != zone.PhaseActive {
			t.Fatalf("step %d: %+v has a rate while %s", step, status, tracker.Phase())
		}
	}
	for _, n := range ref.nodes {
		if !n.is.Excluded {
			want++
		}
	}
	if counted != want {
		t.Fatalf("step %d: %d nodes are counted, %d count", step, counted, want)
	}
	for key := range randomKeys {
		if got, want := tracker.NotBefore(key), ref.notBefore(key); !got.Equal(want) {
			t.Fatalf("step %d: node %d not before %v, want %v", step, key, got, want)
		}
	}
	next, ok := tracker.Next(ref.latest)
	if want, wants := ref.next(); ok != wants || ok && !next.Equal(want) {
		t.Fatalf("step %d: next at %v (%v), want %v (%v) while %s", step, next, ok, want, wants, ref.phase)
	}
}

func TestRandomOperationsAgreeWithTheReference(t *testing.T) {
	const seeds = uint64(2000)
	var seed uint64
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	moves := map[[2]zone.Phase]int{}
	for ; seed < seeds; seed++ {
		random := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 1+3*80)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		for move, n := range play(t, script) {
			moves[move] += n
		}
	}
	for _, move := range [][2]zone.Phase{
		{zone.PhaseRecovering, zone.PhaseRecovering},
		{zone.PhaseRecovering, zone.PhaseActive}, {zone.PhaseRecovering, zone.PhaseSuspended},
		{zone.PhaseActive, zone.PhaseActive}, {zone.PhaseActive, zone.PhaseSuspended},
		{zone.PhaseActive, zone.PhaseRecovering},
		{zone.PhaseSuspended, zone.PhaseSuspended}, {zone.PhaseSuspended, zone.PhaseRecovering},
		{zone.PhaseRecovering, zone.PhaseHolding}, {zone.PhaseActive, zone.PhaseHolding},
		{zone.PhaseSuspended, zone.PhaseHolding}, {zone.PhaseHolding, zone.PhaseHolding},
		{zone.PhaseHolding, zone.PhaseRecovering}, {zone.PhaseHolding, zone.PhaseActive},
		{zone.PhaseHolding, zone.PhaseSuspended},
		{zone.PhaseActive, zone.PhasePaused}, {zone.PhaseRecovering, zone.PhasePaused},
		{zone.PhaseHolding, zone.PhasePaused}, {zone.PhaseSuspended, zone.PhasePaused},
		{zone.PhasePaused, zone.PhasePaused}, {zone.PhasePaused, zone.PhaseSuspended},
		{zone.PhasePaused, zone.PhaseRecovering}, {zone.PhasePaused, zone.PhaseHolding},
	} {
		if moves[move] < 20 {
			t.Errorf("only %d times from %s to %s: the operations prove too little", moves[move],
				move[0], move[1])
		}
		delete(moves, move)
	}
	if len(moves) > 0 {
		t.Errorf("moves that cannot be: %v", moves)
	}
}

func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 9, 0, 0, 14, 0, 255, 9, 0, 0, 8, 0, 0})
	f.Add([]byte{1, 0, 0, 13, 0, 1, 10, 9, 0, 0, 7, 0, 0, 9, 0, 0, 7, 0, 1, 9, 0, 0, 15, 0,
		200, 9, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		play(t, script[:min(len(script), 1+3*300)])
	})
}
