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
			m.Answered(inSeconds(now), inSeconds(now))
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
	m.Answered(inSeconds(320), inSeconds(320))
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
	m.Answered(inSeconds(2), inSeconds(2))
	for at := 4.0; at <= 48; at += 2 {
		m.Answered(inSeconds(at), inSeconds(at))
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
	require.Equal(t, nodehealth.Sight{
		LostAt: inSeconds(0), RegainedAt: inSeconds(0), CountsFrom: inSeconds(20),
	}, at(0), "a monitor does not begin with sight")
	for s := 0.0; s <= 30; s += 2 {
		nodes.Answered(inSeconds(s), inSeconds(s))
	}
	require.Equal(t, nodehealth.Sight{}, at(35))
	require.True(t, at(35).Counts())
	require.Equal(t, nodehealth.Sight{Blind: true, LostAt: inSeconds(30)}, at(35.1))
	regained := nodehealth.Sight{
		LostAt: inSeconds(30), RegainedAt: inSeconds(50), CountsFrom: inSeconds(70),
	}
	nodes.Answered(inSeconds(50), inSeconds(50))
	require.Equal(t, regained, at(52))
	nodes.Answered(inSeconds(54), inSeconds(54))
	require.Equal(t, nodehealth.Sight{Blind: true, LostAt: inSeconds(30)}, at(60), "again")
	require.False(t, at(60).Settled())
	nodes.Answered(inSeconds(60), inSeconds(60))
	regained.RegainedAt, regained.CountsFrom = inSeconds(60), inSeconds(80)
	require.Equal(t, regained, at(64))
	require.False(t, at(64).Settled())
	for s := 64.0; s <= 80; s += 4 {
		require.False(t, at(s-0.1).Counts())
		nodes.Answered(inSeconds(s), inSeconds(s))
	}
	require.Equal(t, nodehealth.Sight{}, at(80))
	for range 5 {
		nodes.Unanswered(inSeconds(82))
	}
	failing := nodehealth.Sight{LostAt: inSeconds(82)}
	require.Equal(t, failing, at(84))
	require.True(t, at(84).Settled(), "what lives had time to be heard")
	failing.Blind, failing.LostAt = true, inSeconds(80)
	require.Equal(t, failing, at(86))
	nodes.Answered(inSeconds(100), inSeconds(85))
	nodes.Answered(inSeconds(100), inSeconds(85))
	require.Equal(t, nodehealth.Sight{Blind: true, LostAt: inSeconds(80)}, at(100), "the answers are late")
}

// H4: an API server that is slow and answers leaves no gap, though nothing else
// is heard. The key is found silent after its grace period and one answer.
func TestH4ASlowAnswerLeavesNoGap(t *testing.T) {
	for latency := 0.0; latency <= 10; latency += 2.5 {
		m := sighted(t)
		sent, found := 0.0, -1.0
		for now := 0.0; found < 0 && now < 300; now += 0.5 {
			if now >= sent+latency {
				m.Answered(inSeconds(now), inSeconds(sent))
				require.Zero(t, m.Blindnesses(), "latency %v", latency)
				sent = now + 2
			}
			if _, ok := m.Start(inSeconds(now)); ok {
				found = now
			}
		}
		require.GreaterOrEqual(t, found, 50.0)
		require.LessOrEqual(t, found, 50+latency+0.5, "latency %v", latency)
	}
}

// H4: a kubelet gives up a renewal after a heartbeat interval, ten seconds. An
// answer that took longer does not show that one would have been heard.
func TestH4ALateAnswerProvesNothing(t *testing.T) {
	m := sighted(t)
	m.Answered(inSeconds(12), inSeconds(2))
	_, blind := m.Blind(inSeconds(12))
	require.False(t, blind)
	m.Answered(inSeconds(24.1), inSeconds(14))
	_, blind = m.Blind(inSeconds(24.1))
	require.True(t, blind)
}

// H4: hearing is what sight is about. While no write is answered, the heartbeat
// of any key is a proof, of a lease whose node is not known yet too.
func TestH4AHeartbeatOfAnyKeyProvesSight(t *testing.T) {
	m := sighted(t)
	m.Observe(observerEpoch, "other", nodehealth.Observation{Reported: true})
	for now := 4.0; now < 50; now += 4 {
		m.Heartbeat(inSeconds(now), "other")
		_, found := m.Start(inSeconds(now))
		require.False(t, found)
	}
	m.Heartbeat(inSeconds(50), "other")
	task, found := m.Start(inSeconds(50))
	require.True(t, found)
	require.Equal(t, "k", task.Key)

	nodes, err := nodehealth.NewNodeMonitor(
		nodehealth.Config{SightTimeout: sightTimeout}, observerEpoch)
	require.NoError(t, err)
	nodes.MarkSynced()
	for i, beats := range []func(now time.Time){
		func(now time.Time) { nodes.ObserveLease(now, renewedLease("a", now)) },
		func(now time.Time) { nodes.ObserveNode(now, reportingNode("b", "uid", now)) },
	} {
		for second := range 10 {
			beats(inSeconds(float64(100*i + second)))
		}
		_, blind := nodes.Blind(inSeconds(float64(100*i + 12)))
		require.False(t, blind)
	}
	nodes.Heartbeat(inSeconds(130), "b")
	_, blind := nodes.Blind(inSeconds(130))
	require.True(t, blind, "a probe of the caller's own does not come by way of the API server")
}

// H4: with an API server that fails often, living keys are heard now and then
// only. While the caller's own writes fail as often, no key is found silent,
// though others are heard all the time. With half of the writes it takes a
// while, and with few it makes no difference.
func TestH4NothingIsSilentWhileManyWritesFail(t *testing.T) {
	found := func(share float64, seed uint64) float64 {
		m, random := sighted(t), rand.New(rand.NewPCG(seed, 5))
		m.Observe(observerEpoch, "other", nodehealth.Observation{Reported: true})
		for now := 0.0; now < 1800; now++ {
			m.Heartbeat(inSeconds(now), "other")
			switch fails := random.Float64() < share; {
			case int(now)%2 > 0:
			case fails:
				m.Unanswered(inSeconds(now))
			default:
				m.Answered(inSeconds(now), inSeconds(now))
			}
			if _, ok := m.Start(inSeconds(now)); ok {
				return now
			}
		}
		return -1
	}
	for _, test := range []struct {
		share  float64
		finds  int // at least, of 100
		most   int // at most
		latest float64
	}{
		{share: 0, finds: 100, most: 100, latest: 50},
		{share: 0.1, finds: 100, most: 100, latest: 50},
		{share: 0.3, finds: 100, most: 100, latest: 80},
		{share: 0.5, finds: 100, most: 100, latest: 300},
		{share: 0.8, most: 5, latest: 1800},
		{share: 1},
	} {
		count := 0
		for seed := range uint64(100) {
			if at := found(test.share, seed); at >= 0 {
				count++
				require.LessOrEqual(t, at, test.latest, "share %v, seed %d", test.share, seed)
			}
		}
		require.GreaterOrEqual(t, count, test.finds, "share %v", test.share)
		require.LessOrEqual(t, count, test.most, "share %v", test.share)
	}
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
		m.Answered(inSeconds(at), inSeconds(at))
	}
	task, ok := m.Start(inSeconds(380))
	require.True(t, ok)
	require.Equal(t, inSeconds(330), task.Since)

	nodes, err := nodehealth.NewNodeMonitor(
		nodehealth.Config{SightTimeout: sightTimeout}, observerEpoch)
	require.NoError(t, err)
	nodes.ObserveNode(observerEpoch,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}})
	nodes.Answered(inSeconds(300), inSeconds(300))
	nodes.Answered(inSeconds(305), inSeconds(305)) // makes up for the doubt
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
	m.Answered(inSeconds(60), inSeconds(60))
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
				m.Answered(inSeconds(float64(second)), inSeconds(float64(second)))
			}
			at = pollBlindly(m, float64(second), float64(second)+0.9)
		}
		require.GreaterOrEqual(t, at, 50.0)
		require.LessOrEqual(t, at, 75.0, "phase %d", phase)
	}
}

// Without a timeout all time is seen, and no request changes that.
func TestH4SightIsOffByDefault(t *testing.T) {
	m, err := nodehealth.NewMonitor[string](nodehealth.Config{}, observerEpoch)
	require.NoError(t, err)
	m.Observe(observerEpoch, "k", nodehealth.Observation{Reported: true})
	m.Answered(inSeconds(49), inSeconds(49))
	m.Unanswered(inSeconds(49))
	require.Equal(t, nodehealth.Sight{}, m.Sight(inSeconds(49)))
	require.InDelta(t, 50, pollBlindly(m, 0, 100), 0.2)
	blind, now := m.Blind(inSeconds(100))
	require.Zero(t, blind)
	require.False(t, now)
}

// Random answers, heartbeats and polls: a key is found silent after a
// grace period of seen time, and soon after that. The seen time is computed
// from the proofs alone. Each proof is a moment up to which, and one from which
// heartbeats could be heard, the latter when the request was sent.
func TestH4RandomSight(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 4))
	silences := 0
	for range 3000 {
		m := sighted(t)
		proofs, heard, sent := []proof{{}}, 0.0, 0.0
		for now := 0.0; now < 400; now += 0.5 {
			gaps := 3.0
			if random.IntN(20) == 0 {
				gaps = 60
			}
			if last := proofs[len(proofs)-1].to; now-last > gaps*random.Float64() {
				sent = max(sent, now-float64(random.IntN(13)))
				m.Answered(inSeconds(now), inSeconds(sent))
				if now-sent <= unbrokenPeriod.Seconds()/2 {
					proofs = append(proofs, proof{sent, now})
				}
				sent = now
			}
			if random.IntN(200) == 0 {
				m.Heartbeat(inSeconds(now), "k")
				heard = now
				proofs = append(proofs, proof{now, now})
			}
			_, ok := m.Start(inSeconds(now))
			seen, gapsSince, broken := seenTime(proofs, heard, now)
			blind := now-proofs[len(proofs)-1].to > sightTimeout.Seconds()
			unbroken := now-broken >= unbrokenPeriod.Seconds()
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

// proof says that heartbeats could be heard from a second to another.
type proof struct{ from, to float64 }

// seenTime returns how much time was seen since the key was heard, and how many
// gaps have ended since. It also returns when the last gap was known to end.
func seenTime(proofs []proof, heard, now float64) (seen, gaps, broken float64) {
	seen, broken = now-heard, 0
	for i := 1; i < len(proofs); i++ {
		from, to := proofs[i-1].to, proofs[i].from
		if to-from <= sightTimeout.Seconds() {
			continue
		}
		broken = proofs[i].to
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

	m.Answered(inSeconds(100), inSeconds(100)) // the time since 48 was blind
	require.False(t, m.Expired(inSeconds(100), "k"))
	require.False(t, m.Expired(inSeconds(101), "k"))
	for at := 102.0; at <= 118; at += 2 {
		m.Answered(inSeconds(at), inSeconds(at))
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
	m.Answered(inSeconds(300), inSeconds(300))
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
			nodes.Answered(inSeconds(7), inSeconds(7))
			require.False(t, nodes.HeardSinceBlindness("n"))
			nodes.Heartbeat(inSeconds(8), "n")
			require.True(t, nodes.HeardSinceBlindness("n"))
		})
	}
}
