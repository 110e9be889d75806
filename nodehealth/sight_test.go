package nodehealth_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth"
)

const (
	sightTimeout   = 5 * time.Second
	unbrokenPeriod = 20 * time.Second
)

// sighted returns a monitor of the key "k", which has just been heard.
func sighted(t *testing.T) *nodehealth.Monitor[string] {
	t.Helper()
	m, err := nodehealth.NewMonitor[string](
		nodehealth.Config{SightTimeout: sightTimeout}, observerEpoch)
	require.NoError(t, err)
	m.Observe(observerEpoch, "k", nodehealth.Observation{Reported: true})
	m.Heartbeat(observerEpoch, "k")
	return m
}

func inSeconds(s float64) time.Time {
	return observerEpoch.Add(time.Duration(s * float64(time.Second)))
}

// poll calls Start every tenth of a second, and proves sight every two seconds,
// as the renewals of a leader's lease do. It returns when the key is found
// silent, or -1.
func poll(m *nodehealth.Monitor[string], from, to float64) float64 {
	for tenth := int(from * 10); tenth <= int(to*10); tenth++ {
		now := float64(tenth) / 10
		if (tenth-int(from*10))%20 == 0 {
			m.Sighted(inSeconds(now))
		}
		if _, ok := m.Start(inSeconds(now)); ok {
			return now
		}
	}
	return -1
}

// pollBlindly is poll without a proof.
func pollBlindly(m *nodehealth.Monitor[string], from, to float64) float64 {
	for tenth := int(from * 10); tenth <= int(to*10); tenth++ {
		if _, ok := m.Start(inSeconds(float64(tenth) / 10)); ok {
			return float64(tenth) / 10
		}
	}
	return -1
}

func TestH4BlindTimeCountsInNoGracePeriod(t *testing.T) {
	m := sighted(t)
	require.Negative(t, poll(m, 0, 20))
	// For five minutes there is no answer.
	require.Negative(t, pollBlindly(m, 20, 319))
	_, blind := m.Blind(inSeconds(319))
	require.True(t, blind)
	_, some := m.Next(inSeconds(319))
	require.False(t, some, "only an answer makes a difference")
	m.Sighted(inSeconds(320))
	all, blind := m.Blind(inSeconds(320))
	require.Equal(t, 300*time.Second, all)
	require.False(t, blind)
	next, some := m.Next(inSeconds(320))
	require.True(t, some)
	require.WithinRange(t, next, inSeconds(340), inSeconds(355))
	require.Negative(t, poll(m, 320, 344))
	next, _ = m.Next(inSeconds(345))
	require.WithinRange(t, next, inSeconds(350), inSeconds(355))
	// 20 s were seen before, 30 s are missing, and up to 5 s more for the doubt.
	require.InDelta(t, 352.5, poll(m, 346, 390), 2.5)
}

// The end of a grace period that comes up while the monitor is blind waits.
func TestH4NothingIsSilentWhileTheMonitorIsBlind(t *testing.T) {
	m := sighted(t)
	m.Sighted(inSeconds(2))
	for at := 4.0; at <= 48; at += 2 {
		m.Sighted(inSeconds(at))
	}
	_, ok := m.Start(inSeconds(60)) // the first poll for a while
	require.False(t, ok)
}

// Sight returns since when, and until when, no key is found silent.
func TestH4SightReturnsSinceWhenSilenceDoesNotCount(t *testing.T) {
	nodes, err := nodehealth.NewNodeMonitor(
		nodehealth.Config{SightTimeout: sightTimeout}, observerEpoch)
	require.NoError(t, err)
	at := func(s float64) nodehealth.Sight { return nodes.Sight(inSeconds(s)) }
	for s := 0.0; s <= 10; s += 2 {
		nodes.Sighted(inSeconds(s))
	}
	require.True(t, at(15).Counts())
	require.Equal(t, nodehealth.Sight{Blind: true, LostAt: inSeconds(10)}, at(15.1))
	regained := nodehealth.Sight{
		LostAt: inSeconds(10), RegainedAt: inSeconds(30), CountsFrom: inSeconds(50),
	}
	nodes.Sighted(inSeconds(30))
	require.Equal(t, regained, at(32))
	nodes.Sighted(inSeconds(34))
	require.Equal(t, nodehealth.Sight{Blind: true, LostAt: inSeconds(10)}, at(40), "again")
	nodes.Sighted(inSeconds(40))
	regained.RegainedAt, regained.CountsFrom = inSeconds(40), inSeconds(60)
	require.Equal(t, regained, at(44))
	for s := 44.0; s <= 60; s += 4 {
		require.False(t, at(s-0.1).Counts())
		nodes.Sighted(inSeconds(s))
	}
	require.Equal(t, nodehealth.Sight{}, at(60))
	require.Equal(t, nodehealth.Sight{Blind: true, LostAt: inSeconds(60)}, at(70))
}

// Times that are shown are real.
func TestH4TimesAfterBlindnessAreReal(t *testing.T) {
	m := sighted(t)
	require.Negative(t, poll(m, 0, 10))
	require.Negative(t, poll(m, 310, 330))
	m.Heartbeat(inSeconds(330), "k")
	last, _ := m.LastHeartbeat("k")
	require.Equal(t, inSeconds(330), last)
	for at := 332.0; at <= 380; at += 2 {
		m.Sighted(inSeconds(at))
	}
	task, ok := m.Start(inSeconds(380))
	require.True(t, ok)
	require.Equal(t, inSeconds(330), task.Since)

	nodes, err := nodehealth.NewNodeMonitor(
		nodehealth.Config{SightTimeout: sightTimeout}, observerEpoch)
	require.NoError(t, err)
	nodes.ObserveNode(observerEpoch,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}})
	nodes.Sighted(inSeconds(300))
	nodes.Sighted(inSeconds(305)) // makes up for the doubt
	nodes.Heartbeat(inSeconds(310), "n")
	last, _ = nodes.LastHeartbeat("n")
	require.Equal(t, inSeconds(310), last)
	blind, _ := nodes.Blind(inSeconds(310))
	require.Equal(t, 300*time.Second, blind)
}

// A heartbeat counts also while the monitor is blind.
func TestH4AHeartbeatEndsBlindSilence(t *testing.T) {
	m := sighted(t)
	require.Negative(t, poll(m, 0, 48))
	m.Heartbeat(inSeconds(100), "k")
	last, _ := m.LastHeartbeat("k")
	require.WithinRange(t, last, inSeconds(48), inSeconds(100))
	require.InDelta(t, 162.5, poll(m, 110, 200), 2.5)
}

// Senders need a moment to be heard again after the observer's own trouble.
func TestH4SilenceCountsOnlyAfterAnUnbrokenPeriod(t *testing.T) {
	m := sighted(t)
	require.Negative(t, poll(m, 0, 48))
	m.Sighted(inSeconds(60))
	next, some := m.Next(inSeconds(60))
	require.True(t, some)
	require.Equal(t, inSeconds(80), next)
	require.InDelta(t, 80, poll(m, 60, 200), 0.2)
}

// A machine that is suspended, or a process that is stopped, hears nothing.
func TestH4AGapBetweenPollsIsBlind(t *testing.T) {
	m := sighted(t)
	require.Negative(t, poll(m, 0, 10))
	// After an hour comes a poll without a proof.
	require.Negative(t, pollBlindly(m, 3609, 3609.9))
	require.InDelta(t, 3652, poll(m, 3610, 3700), 3)
}

// If sight is never unbroken nothing is found silent, and Blind says so.
func TestH4WithoutUnbrokenSightNothingIsSilent(t *testing.T) {
	m := sighted(t)
	for from := 0.0; from < 3600; from += 20 { // it breaks every 20 s
		require.Negative(t, poll(m, from, from+12))
		require.Negative(t, pollBlindly(m, from+12, from+19.9))
	}
	blind, _ := m.Blind(inSeconds(3600))
	require.Greater(t, blind, 20*time.Minute)
}

// With an API that fails for 5 s of every minute, a dead node is found within
// 1.5 grace periods.
func TestH4AnAPIThatFailsNowAndThenDelaysLittle(t *testing.T) {
	for phase := range 60 {
		m := sighted(t)
		at := -1.0
		for second := 0; second < 120 && at < 0; second++ {
			if failing := (second+phase)%60 < 5; !failing && second%2 == 0 {
				m.Sighted(inSeconds(float64(second)))
			}
			at = pollBlindly(m, float64(second), float64(second)+0.9)
		}
		require.GreaterOrEqual(t, at, 50.0)
		require.LessOrEqual(t, at, 75.0, "phase %d", phase)
	}
}

// Without a timeout all time is seen, and Sighted changes nothing.
func TestH4SightIsOffByDefault(t *testing.T) {
	m, err := nodehealth.NewMonitor[string](nodehealth.Config{}, observerEpoch)
	require.NoError(t, err)
	m.Observe(observerEpoch, "k", nodehealth.Observation{Reported: true})
	m.Sighted(inSeconds(49))
	require.InDelta(t, 50, pollBlindly(m, 0, 100), 0.2)
	blind, now := m.Blind(inSeconds(100))
	require.Zero(t, blind)
	require.False(t, now)
}

// Random proofs, heartbeats and polls: a key is found silent after a grace
// period of seen time, and soon after that. The seen time is computed from the
// proofs alone.
func TestH4RandomSight(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 4))
	silences := 0
	for range 3000 {
		m := sighted(t)
		proofs, heard := []float64{0}, 0.0
		for now := 0.0; now < 400; now += 0.5 {
			gaps := 3.0
			if random.IntN(20) == 0 {
				gaps = 60
			}
			if last := proofs[len(proofs)-1]; now-last > gaps*random.Float64() {
				m.Sighted(inSeconds(now))
				proofs = append(proofs, now)
			}
			if random.IntN(200) == 0 {
				m.Heartbeat(inSeconds(now), "k")
				heard = now
			}
			_, ok := m.Start(inSeconds(now))
			seen, gapsSince, broken := seenTime(proofs, heard, now)
			blind := now-proofs[len(proofs)-1] > sightTimeout.Seconds()
			unbroken := broken < 0 || now-broken >= unbrokenPeriod.Seconds()
			if ok {
				silences++
				require.True(t, seen >= monitorGrace.Seconds() && unbroken && !blind,
					"at %v: heard %v, proofs %v", now, heard, proofs)
				break
			}
			late := seen - monitorGrace.Seconds() - sightTimeout.Seconds()*gapsSince
			require.True(t, late < 0.5 || !unbroken || blind,
				"at %v: heard %v, proofs %v", now, heard, proofs)
		}
	}
	require.Greater(t, silences, 500)
}

// seenTime returns how much time was seen since the key was heard, and how many
// gaps have ended since. It also returns when the last gap ended, or -1.
func seenTime(proofs []float64, heard, now float64) (seen, gaps, broken float64) {
	seen, broken = now-heard, -1
	for i := 1; i < len(proofs); i++ {
		from, to := proofs[i-1], proofs[i]
		if to-from <= sightTimeout.Seconds() {
			continue
		}
		broken = to
		if to > heard {
			gaps++
			seen -= to - max(from, heard)
		}
	}
	return seen, gaps, broken
}

// A key that is found silent just before the API server falls silent was not
// unheard for a grace period after all.
func TestH4ASilenceThatEndedInBlindnessIsNotOver(t *testing.T) {
	m := sighted(t)
	require.Negative(t, poll(m, 0, 48))
	task, ok := m.Start(inSeconds(51))
	require.True(t, ok)
	require.True(t, m.Expired(inSeconds(51), "k"))
	require.False(t, m.Expired(inSeconds(60), "k"), "blind")

	m.Sighted(inSeconds(100)) // the time since 48 was blind
	require.False(t, m.Expired(inSeconds(100), "k"))
	require.False(t, m.Expired(inSeconds(101), "k"))
	for at := 102.0; at <= 118; at += 2 {
		m.Sighted(inSeconds(at))
	}
	require.False(t, m.Expired(inSeconds(119), "k"), "sight has to be unbroken for 20 s")
	require.True(t, m.Expired(inSeconds(120), "k"))
	m.Finish(inSeconds(120), task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
	require.True(t, m.Expired(inSeconds(120), "k"))
	m.Heartbeat(inSeconds(121), "k")
	require.False(t, m.Expired(inSeconds(121), "k"))
	require.False(t, m.Expired(inSeconds(121), "unknown"))
}

// What was alive before a blindness need not be alive after it.
func TestH4AKeyThatWasNotHeardSinceBlindnessIsKnown(t *testing.T) {
	m := sighted(t)
	require.True(t, m.HeardSinceBlindness("k"))
	m.Heartbeat(inSeconds(6), "k")
	m.Sighted(inSeconds(300))
	require.False(t, m.HeardSinceBlindness("k"), "what was heard in blindness is old")
	m.Heartbeat(inSeconds(302), "k")
	require.True(t, m.HeardSinceBlindness("k"))
	m.Observe(inSeconds(303), "new", nodehealth.Observation{Reported: true})
	require.True(t, m.HeardSinceBlindness("new"), "it has just come")
	require.False(t, m.HeardSinceBlindness("unknown"))
}

// The same of a node, however its sources are combined.
func TestH4ANodeThatWasNotHeardSinceBlindnessIsKnown(t *testing.T) {
	for name, combine := range map[string]func(nodehealth.Heard) time.Time{
		"default": nil, "latest": nodehealth.Heard.Latest,
	} {
		t.Run(name, func(t *testing.T) {
			nodes, err := nodehealth.NewNodeMonitor(
				nodehealth.Config{SightTimeout: sightTimeout, Combine: combine}, observerEpoch)
			require.NoError(t, err)
			nodes.ObserveNode(observerEpoch,
				&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}})
			require.True(t, nodes.HeardSinceBlindness("n"))
			nodes.Heartbeat(inSeconds(6), "n") // in blindness
			nodes.Sighted(inSeconds(7))
			require.False(t, nodes.HeardSinceBlindness("n"))
			nodes.Heartbeat(inSeconds(8), "n")
			require.True(t, nodes.HeardSinceBlindness("n"))
		})
	}
}
