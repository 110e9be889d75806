package timedqueue

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run one seed again: go test -run 'Random' -timedqueue.seed=N
var seedFlag = flag.Uint64("timedqueue.seed", 0, "run only this seed of the random tests")

// chooser is the source of a walk's choices: a random generator, or the bytes
// of a fuzzer.
type chooser interface {
	// IntN returns one of 0 to n-1.
	IntN(n int) int
	// Ended reports whether there is no choice left.
	Ended() bool
}

type randomChooser struct {
	*rand.Rand
	steps int
}

func (c *randomChooser) Ended() bool { c.steps--; return c.steps < 0 }

// testRandom walks with many seeds, a seventh of them by default. Each thing
// named must happen in some of them.
func testRandom(t *testing.T, kind walkKind, seeds int, reach ...string) {
	seeds = sized(seeds/7, seeds)
	first := rand.Uint64N(1 << 40)
	if *seedFlag != 0 {
		first, seeds = *seedFlag, 1
	}
	reached := map[string]int{}
	for i := range seeds {
		seed := first + uint64(i)
		choose := &randomChooser{rand.New(rand.NewPCG(seed, 7)), 50 + int(seed%200)}
		w, err := newWalk(choose, kind)
		w.reached = reached
		if err == nil {
			err = w.run()
		}
		if err != nil {
			for _, line := range w.log[max(0, len(w.log)-70):] {
				t.Log(line)
			}
			t.Fatalf("seed %d (run it again with -timedqueue.seed=%d): %v", seed, seed, err)
		}
	}
	t.Log(reached)
	if seeds == 1 {
		return
	}
	for _, what := range reach {
		require.Greater(t, reached[what], seeds/80, what)
	}
}

// everywhere is what happens in each kind of walk.
var everywhere = []string{
	"Add", "Add again", "Add of what acts and was removed", "Remove", "Remove of what acts",
	"Set", "Set of what acts", "Set of a new key", "Set during a backoff", "Retry",
	"failed after a call said when", "Keep", "Find", "Schedule",
	"Unschedule", "Unschedule of what acts", "Release", "Release of what acts",
	"Refile", "stale entry", "Start", "Finish Done", "Finish Skipped", "Finish Failed",
	"Finish Continued", "Finish Postponed", "no outcome", "RetryAfter", "Err", "At", "Idle", "no At",
	"At and Idle",
	"late Finish", "clock set back",
	"started by rank", "started by insertion",
}

func TestRandomQueueDoesAsTheReference(t *testing.T) {
	testRandom(t, walkUnlimited, 1000, append([]string{"started by kind"}, everywhere...)...)
}

func TestRandomQueueWithGatesDoesAsTheReference(t *testing.T) {
	testRandom(t, walkGates, 2000, append([]string{"held", "released", "no token"}, everywhere...)...)
}

func TestRandomQueueWithSharesDoesAsTheReference(t *testing.T) {
	reach := append([]string{
		"held", "released", "no token", "overtaken for want of a token", "slept",
		"RemoveShare", "swept", "swept while it was held", "kept its own limit",
		"changed its share while it waited for a token",
	}, everywhere...)
	testRandom(t, walkShares, 4000, reach...)
}

func TestRandomQueueWithSlotsDoesAsTheReference(t *testing.T) {
	reach := append([]string{"no slot", "joined its holder", "no token", "slept", "swept",
		"overtaken for want of a token"}, everywhere...)
	testRandom(t, walkSlots, 4000, reach...)
}

// walkKind is which budgets the queue of a walk has.
type walkKind int

const (
	walkUnlimited walkKind = iota
	walkGates
	walkShares
	walkSlots
)

func (k walkKind) String() string {
	return [...]string{"unlimited", "gates", "shares", "slots"}[k]
}

var _ fmt.Stringer = walkKind(0)
