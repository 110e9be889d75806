package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// C3: a hundred thousand nodes are decided again in slices, and nothing is
// handed out meanwhile that is not due any more.
func TestC3ClockMovesDeadlinesInSlices(t *testing.T) {
	const nodes, pods = 3000, 4
	tracker, err := eviction.NewTracker(eviction.Config{}, reading(0, 0))
	require.NoError(t, err)
	m := &machine{t, tracker, 0}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		m.ObserveNode(m.at(0), newNode(name, "a@0"))
		for p := range pods {
			m.ObservePod(m.at(0), newPod(fmt.Sprintf("%s-%d", name, p), on(name), tolerates("a:6000")))
		}
	}
	m.MarkSynced()
	m.date(1, 1)
	m.ahead = 2000
	m.date(2, 2002)
	require.Empty(t, m.starts(2))
	require.Empty(t, m.starts(4000.9))
	m.ahead = 0
	m.date(4002, 4002)
	forget := func(i int) {
		name := fmt.Sprintf("node-%d", i)
		for p := range pods {
			m.ForgetPod(m.at(4002), types.UID(fmt.Sprintf("%s-%d", name, p)))
		}
		m.ForgetNode(m.at(4002), name)
	}
	forget(nodes - 1)
	slices := 0
	for ; ; slices++ {
		require.Less(t, slices, nodes)
		_, ok := m.Start(m.at(4002))
		require.False(t, ok, "it was due by the clock that counts no more")
		next, ok := m.Next(m.at(4002))
		require.True(t, ok)
		if next.After(m.at(4002)) {
			break
		}
		if slices == 2 { // nodes come and go meanwhile
			for i := range nodes / 3 {
				forget(i * 3)
			}
		}
	}
	require.GreaterOrEqual(t, slices, 5)
	require.LessOrEqual(t, slices, nodes*(pods+1)/1000)
	require.Empty(t, m.starts(6000.9))
	require.Len(t, m.starts(6001), 100)
}

// Random suspensions, steps of clocks and answers, against the slow way: from
// all that was observed, work out each deadline.
func TestE2ClockAgainstReference(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(500) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			m := unanswered(t)
			m.MarkSynced()
			if seed%2 == 0 {
				m.date(0, 0)
			}
			type fact struct {
				pod            types.UID
				stored, seen   float64 // seen by the monotonic clock
				untrusted      bool
				node           string
				tolerates, due float64
			}
			var facts []fact
			elapsed, server, believed := 0.0, 0.0, 0.0 // server is how far the server's time is ahead
			for step := range 60 {
				pass := float64(random.IntN(30)) / 4
				elapsed += pass
				switch random.IntN(8) {
				case 0: // suspended
					slept := 5 * float64(random.IntN(100))
					server, m.ahead = server+slept, m.ahead+slept
				case 1: // set wrong
					m.ahead += 5 * float64(random.IntN(200)-100)
				case 2: // set right
					m.ahead = server
				case 3, 4:
					m.date(elapsed, elapsed+server)
					if m.ahead == server && believed != server {
						believed = server
						reached["moved"]++
					}
				default:
					f := fact{
						pod: types.UID(fmt.Sprintf("pod-%d", step)), node: fmt.Sprintf("node-%d", step),
						seen: elapsed, tolerates: float64(1 + random.IntN(300)),
						stored: float64(int(elapsed+server) - random.IntN(15)),
					}
					f.untrusted = f.stored < elapsed+believed-10
					facts = append(facts, f)
					m.ObserveNode(m.at(elapsed), newNode(f.node, fmt.Sprintf("a@%v", f.stored)))
					m.ObservePod(m.at(elapsed), newPod(string(f.pod), on(f.node), bound(f.stored),
						tolerates(fmt.Sprintf("a:%v", f.tolerates))))
				}
				due := map[string]bool{}
				for i := range facts {
					f := &facts[i]
					start := f.seen
					if at := f.stored - believed; !f.untrusted && at <= f.seen {
						start = at + 1
					}
					f.due = start + f.tolerates
					m.leavesAt(f.pod, f.due)
					if f.due <= elapsed {
						due[string(f.pod)] = true
					}
				}
				left := map[string]bool{}
				for _, name := range m.starts(elapsed) {
					left[name] = true
					require.True(t, due[name], "%s is handed out before it is due", name)
					m.ForgetPod(m.at(elapsed), types.UID(name))
				}
				require.Len(t, left, len(due))
				kept := facts[:0]
				for _, f := range facts {
					if !left[string(f.pod)] {
						kept = append(kept, f)
					}
				}
				facts = kept
				reached["left"] += len(left)
			}
		})
	}
	t.Log(reached)
	require.Greater(t, reached["moved"], 500)
	require.Greater(t, reached["left"], 3000)
}
