package observer

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// H10: a node is silent one grace period after its last heartbeat, long before
// it is declared, and its zone counts it. It is so until it is heard.
func TestH10SilentNodeIsSeenUntilItIsHeard(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1", "b-0")
	w.pass(60*time.Second, "a-0", "a-1", "b-0")
	require.Empty(t, w.silent())
	require.Equal(t, zone.PhaseActive, w.View().Phase())
	w.told = nil

	w.pass(24*time.Second, "a-0", "b-0")
	require.False(t, w.View().Silent("a-1"))
	w.pass(time.Second, "a-0", "b-0")
	require.True(t, w.View().Silent("a-1"), "25 s after its last heartbeat")
	require.False(t, w.View().Silent("a-0"))
	require.Equal(t, []string{"a-1"}, w.silent())
	require.Equal(t, []Change{{Nodes: []string{"a-1"}}}, w.told)
	status, known := w.View().ZoneOf("a-1")
	require.True(t, known)
	require.Equal(t, zone.Counts{Ready: 1, NotReady: 1}, status.Counts)

	w.told = nil
	require.True(t, w.beat("a-1"), "the View changes")
	w.work()
	require.Empty(t, w.silent())
	require.Equal(t, []Change{{Nodes: []string{"a-1"}}}, w.told)
	status, _ = w.View().Zone("a")
	require.Equal(t, zone.Counts{Ready: 2}, status.Counts)
}

// H1: what the API server says at the start is believed until the node is heard.
func TestH1FoundUnknownIsSilent(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0")
	w.ObserveNode(w.now, nodeOf("a-1", corev1.ConditionUnknown))
	w.work()
	require.Equal(t, []string{"a-1"}, w.silent())
	w.now = w.now.Add(time.Second)
	w.beat("a-1")
	require.Empty(t, w.silent(), "at once, though silence does not count yet")
	w.work()
	status, _ := w.View().Zone("a")
	require.Equal(t, zone.Counts{Ready: 1, NotReady: 1}, status.Counts, "its Ready is not True yet")
}

// A node that flaps counts as silent until it was heard for a while.
func TestRecoveryPeriod(t *testing.T) {
	config := TrackerConfig{Health: nodehealth.Config{RecoveryPeriod: 30 * time.Second}}
	w := newWorld(t, config, "a-0", "a-1")
	w.pass(60*time.Second, "a-0", "a-1")
	w.pass(30*time.Second, "a-0")
	require.Equal(t, []string{"a-1"}, w.silent())
	w.pass(30*time.Second, "a-0", "a-1") // heard after ten seconds
	require.Equal(t, []string{"a-1"}, w.silent())
	w.pass(10*time.Second, "a-0", "a-1")
	require.Empty(t, w.silent())
}

// H10: a zone and the cluster are judged as package zone does.
func TestH10ZonesAndPhase(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1", "b-0", "b-1")
	require.Equal(t, zone.PhaseRecovering, w.View().Phase())
	w.pass(60*time.Second, "a-0", "a-1", "b-0", "b-1")
	require.Equal(t, zone.PhaseActive, w.View().Phase())
	w.told = nil

	w.pass(30*time.Second, "b-0", "b-1")
	status, _ := w.View().Zone("a")
	require.Equal(t, zone.Status{
		Zone: "a", State: zone.FullDisruption, Counts: zone.Counts{NotReady: 2}, Rate: 0.1,
	}, status)
	status, _ = w.View().ZoneOf("b-1")
	require.Equal(t, zone.Status{Zone: "b", State: zone.Normal, Counts: zone.Counts{Ready: 2}, Rate: 0.1}, status)
	require.Equal(t, []Change{{Nodes: []string{"a-0", "a-1"}, Zones: []string{"a"}}}, w.told)

	for _, name := range []string{"b-0", "b-1"} {
		w.told = nil
		w.ObserveNode(w.now, nodeOf(name, corev1.ConditionFalse))
		w.work()
	}
	require.Equal(t, zone.PhaseSuspended, w.View().Phase())
	require.Equal(t, []Change{{Zones: []string{"b"}, Phase: true}}, w.told)
	status, _ = w.View().Zone("a")
	require.Zero(t, status.Rate, "no node of a suspended cluster may be acted against")
}

// H4: silence counts only while some node is heard.
func TestH4BlindTimeIsNoSilence(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1", "b-0")
	w.pass(60*time.Second, "a-0", "a-1", "b-0")
	w.pass(time.Hour) // the API server is down
	require.Empty(t, w.silent())
	require.Equal(t, zone.PhaseActive, w.View().Phase())

	w.now = w.now.Add(time.Second)
	require.True(t, w.beat("unknown"), "all zones change")
	w.beat("a-0", "b-0") // it is back, and a-1 has died meanwhile
	w.work()
	for range 2 {
		status, _ := w.View().Zone("a")
		require.Equal(t, zone.Counts{Ready: 1, Unconfirmed: 1}, status.Counts, "a-1 had no time to be heard")
		labelled := nodeOf("a-1", corev1.ConditionTrue)
		labelled.Labels = map[string]string{"by": "another client"}
		w.ObserveNode(w.now, labelled)
		w.work()
	}
	w.pass(21*time.Second, "a-0", "b-0")
	require.Empty(t, w.silent())
	w.pass(10*time.Second, "a-0", "b-0")
	require.Equal(t, []string{"a-1"}, w.silent())
}

// H4: an answered write proves that heartbeats would be heard, so that the death
// of all nodes is seen.
func TestH4AnsweredWritesAreProof(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "b-0")
	w.pass(60*time.Second, "a-0", "b-0")
	for range 30 {
		w.now = w.now.Add(time.Second)
		w.Answered(w.now, w.now)
		w.work()
	}
	require.Equal(t, []string{"a-0", "b-0"}, w.silent())
	require.Equal(t, zone.PhaseSuspended, w.View().Phase())
}

// H4: with Confirm a live read comes first. Until then the node holds its zone.
func TestH4SilenceIsConfirmed(t *testing.T) {
	config := TrackerConfig{Confirm: true}
	for _, test := range []struct {
		name   string
		answer func(w *world) Result
		silent bool
		counts zone.Counts
	}{
		{
			"no heartbeat",
			func(w *world) Result { return Result{Versions: w.versions} },
			true, zone.Counts{Ready: 1, NotReady: 1},
		},
		{
			"no lease",
			func(*world) Result { return Result{Versions: map[string]string{}} },
			true, zone.Counts{Ready: 1, NotReady: 1},
		},
		{
			"the watch is late",
			func(w *world) Result {
				w.renew("a-1")
				return Result{Versions: w.versions}
			},
			false, zone.Counts{Ready: 2},
		},
		{"it has failed", func(*world) Result { return Result{} }, false, zone.Counts{Ready: 1, Unconfirmed: 1}},
		{
			"it was heard meanwhile",
			func(w *world) Result {
				w.beat("a-1")
				return Result{Versions: w.versions}
			},
			false, zone.Counts{Ready: 2},
		},
		{
			"it was deleted meanwhile",
			func(w *world) Result {
				w.ForgetNode(w.now, "a-1")
				return Result{Versions: w.versions}
			},
			false, zone.Counts{Ready: 1},
		},
		{
			"it was recreated meanwhile",
			func(w *world) Result {
				again := nodeOf("a-1", corev1.ConditionTrue)
				again.UID = "another"
				w.ObserveNode(w.now, again)
				return Result{Versions: w.versions}
			},
			false, zone.Counts{Ready: 2},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, config, "a-0", "a-1")
			w.pass(60*time.Second, "a-0", "a-1")
			w.answer = func(Task) Result { return test.answer(w) }
			w.pass(25*time.Second, "a-0")
			require.Equal(t, [][]string{{"a-1"}}, w.read)
			require.Equal(t, test.silent, w.View().Silent("a-1"))
			status, _ := w.View().Zone("a")
			require.Equal(t, test.counts, status.Counts)
		})
	}
}

// H4: a read that failed is tried again, and what it shows then counts.
func TestH4FailedReadIsTriedAgain(t *testing.T) {
	w := newWorld(t, TrackerConfig{Confirm: true}, "a-0", "a-1")
	w.pass(60*time.Second, "a-0", "a-1")
	w.answer = func(Task) Result { return Result{} }
	w.pass(28*time.Second, "a-0")
	require.Greater(t, len(w.read), 1)
	require.Empty(t, w.silent())
	w.answer = nil
	w.pass(10*time.Second, "a-0")
	require.Equal(t, []string{"a-1"}, w.silent())
}

// H4: while a read is under way no other begins. Those that fall silent
// meanwhile are read together, except one that is heard again.
func TestH4SuspectsAreReadTogether(t *testing.T) {
	w := newWorld(t, TrackerConfig{Confirm: true}, "a-0", "a-1", "a-2", "a-3", "a-4")
	w.pass(60*time.Second, "a-0", "a-1", "a-2", "a-3", "a-4")
	w.now = w.now.Add(time.Second)
	w.beat("a-2", "a-3", "a-4")
	for range 24 { // one of the others keeps the sight
		w.now = w.now.Add(time.Second)
		w.beat("a-0")
	}
	first, ok := w.Start(w.now)
	require.True(t, ok)
	require.Equal(t, []string{"a-1"}, first.Nodes)
	w.now = w.now.Add(time.Second)
	task, ok := w.Start(w.now)
	require.False(t, ok, "%v", task)
	w.beat("a-3")
	w.Finish(w.now, first, Result{Versions: w.versions})
	second, ok := w.Start(w.now)
	require.True(t, ok)
	require.ElementsMatch(t, []string{"a-2", "a-4"}, second.Nodes)
	w.Finish(w.now, second, Result{Versions: w.versions})
	w.work()
	require.Equal(t, []string{"a-1", "a-2", "a-4"}, w.silent())
}

// H4: silence that has just turned out to be blindness is not confirmed.
func TestH4BlindReadConfirmsNothing(t *testing.T) {
	w := newWorld(t, TrackerConfig{Confirm: true}, "a-0", "a-1")
	w.pass(60*time.Second, "a-0", "a-1")
	w.answer = func(Task) Result {
		w.now = w.now.Add(20 * time.Second) // the read hangs, and nothing is heard
		return Result{Versions: w.versions}
	}
	w.pass(25*time.Second, "a-0")
	require.Len(t, w.read, 1)
	require.Empty(t, w.silent())
}

// H5: a deleted node is forgotten, and one of its name is a new one.
func TestH5IdentityIsTheUID(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1", "b-0")
	w.pass(60*time.Second, "a-0", "a-1", "b-0")
	w.pass(30*time.Second, "a-0")
	require.Equal(t, []string{"a-1", "b-0"}, w.silent())

	w.told = nil
	w.ForgetNode(w.now, "b-0")
	w.ForgetNode(w.now, "unknown")
	w.work()
	require.Equal(t, []Change{{Nodes: []string{"b-0"}, Zones: []string{"b"}}}, w.told)
	_, known := w.View().Zone("b")
	require.False(t, known, "it has lost its last node")
	_, known = w.View().ZoneOf("b-0")
	require.False(t, known)

	again := nodeOf("a-1", corev1.ConditionTrue)
	again.UID = "another"
	w.ObserveNode(w.now, again)
	require.Empty(t, w.silent())
	w.pass(24*time.Second, "a-0")
	require.Empty(t, w.silent(), "it has its whole grace period")
	w.pass(time.Second, "a-0")
	require.Equal(t, []string{"a-1"}, w.silent())
}

// Z2, Z4: zones are those of a function. A node that moves counts in its new
// zone, and one that is excluded counts in none.
func TestZ2NodeMovesToAnotherZone(t *testing.T) {
	w := newWorld(t, TrackerConfig{ZoneOf: zone.ByLabels("pool")})
	object := nodeOf("n", corev1.ConditionTrue)
	for _, pool := range []string{"x", "y"} {
		object = object.DeepCopy()
		object.Labels = map[string]string{"pool": pool}
		w.ObserveNode(w.now, object)
		w.work()
	}
	status, known := w.View().ZoneOf("n")
	require.True(t, known)
	require.Equal(t, "y", status.Zone)
	require.Equal(t, zone.Normal, status.State)
	_, known = w.View().Zone("x")
	require.False(t, known)

	object = object.DeepCopy()
	object.Labels[zone.LabelExcludeDisruption] = ""
	w.ObserveNode(w.now, object)
	w.work()
	status, _ = w.View().ZoneOf("n")
	require.Zero(t, status.Counts)
}

// H10: before the caches are filled a View knows what was listed so far.
func TestH10BeforeSync(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := NewTracker(TrackerConfig{ZoneOf: zoneOfName}, now)
	require.NoError(t, err)
	view := tracker.View()
	tracker.ObserveNode(now, nodeOf("a-0", corev1.ConditionUnknown))
	for range 2 {
		now = now.Add(time.Minute)
		_, ok := tracker.Start(now)
		require.False(t, ok)
		_, ok = tracker.Next(now)
		require.False(t, ok)
	}
	require.False(t, view.Synced())
	require.False(t, view.Silent("a-1"))
	require.True(t, view.Silent("a-0"))
	require.Equal(t, zone.PhaseRecovering, view.Phase())
	status, known := view.ZoneOf("a-0")
	require.True(t, known)
	require.Equal(t, zone.Initial, status.State)

	tracker.MarkSynced(now)
	require.True(t, view.Synced())
	status, _ = view.ZoneOf("a-0")
	require.Equal(t, zone.FullDisruption, status.State)
	require.Equal(t, zone.PhaseSuspended, view.Phase())
}

// Z3: the stabilization window begins when the caches are filled.
func TestZ3StabilizationBeginsWithSync(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := NewTracker(TrackerConfig{Health: nodehealth.Config{GracePeriod: time.Hour}}, now)
	require.NoError(t, err)
	now = now.Add(2 * time.Minute)
	tracker.ObserveNode(now, nodeOf("a-0", corev1.ConditionTrue))
	tracker.MarkSynced(now)
	for _, test := range []struct {
		after time.Duration
		phase zone.Phase
	}{{49 * time.Second, zone.PhaseRecovering}, {time.Second, zone.PhaseActive}} {
		now = now.Add(test.after)
		tracker.Start(now)
		require.Equal(t, test.phase, tracker.View().Phase())
	}
}

// H10: changes are told one at a time. What changes meanwhile is told once.
func TestH10ChangesAreTogetherWhileOneIsTold(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1", "a-2")
	w.pass(60*time.Second, "a-0", "a-1", "a-2")
	w.pass(24*time.Second, "a-0")
	w.now = w.now.Add(time.Second)
	first, ok := w.Start(w.now)
	require.True(t, ok)
	require.Equal(t, Change{Nodes: []string{"a-1", "a-2"}}, first.Change)
	for range 5 {
		w.beat("a-1")
		_, ok = w.Start(w.now)
		require.False(t, ok)
		require.Equal(t, []string{"a-2"}, w.silent(), "the View does not wait")
		w.now = w.now.Add(11 * time.Second)
		w.beat("a-0")
		w.now = w.now.Add(11 * time.Second)
		w.beat("a-0")
		w.now = w.now.Add(5 * time.Second)
		_, ok = w.Start(w.now)
		require.False(t, ok)
		require.Equal(t, []string{"a-1", "a-2"}, w.silent())
	}
	w.Finish(w.now, first, Result{})
	second, ok := w.Start(w.now)
	require.True(t, ok)
	require.Equal(t, Change{Nodes: []string{"a-1"}}, second.Change)
}

// H8: a node that stays silent stays so, though its conditions say otherwise.
func TestH8SilenceOutlastsAnotherRecord(t *testing.T) {
	for _, confirm := range []bool{false, true} {
		w := newWorld(t, TrackerConfig{Confirm: confirm}, "a-0", "a-1")
		w.pass(60*time.Second, "a-0", "a-1")
		w.pass(25*time.Second, "a-0")
		w.answer = func(Task) Result { return Result{} } // no read can confirm it again
		for range 5 {
			labelled := nodeOf("a-1", corev1.ConditionTrue)
			labelled.Labels = map[string]string{"at": w.now.Format("150405")}
			w.ObserveNode(w.now, labelled)
			w.pass(20*time.Second, "a-0")
			require.Equal(t, []string{"a-1"}, w.silent())
		}
		w.pass(20*time.Second, "a-0", "a-1")
		require.Empty(t, w.silent())
	}
}

// A status report is a heartbeat like a lease.
func TestStatusIsAHeartbeat(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1")
	w.pass(60*time.Second, "a-0", "a-1")
	w.pass(25*time.Second, "a-0")
	require.Equal(t, []string{"a-1"}, w.silent())
	reports := nodeOf("a-1", corev1.ConditionTrue)
	reports.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(w.now)
	w.ObserveNode(w.now, reports)
	w.work()
	require.Empty(t, w.silent())
	heard, known := w.LastHeartbeat("a-1")
	require.True(t, known)
	require.Equal(t, w.now, heard)
}

func TestForgottenLeaseIsNoHeartbeat(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1")
	w.pass(60*time.Second, "a-0", "a-1")
	w.pass(10*time.Second, "a-0")
	w.ForgetLease(w.now, "a-1")
	w.pass(15*time.Second, "a-0")
	require.Equal(t, []string{"a-1"}, w.silent())
}

// H4: many writes that fail make no node silent.
func TestH4FailingWrites(t *testing.T) {
	w := newWorld(t, TrackerConfig{}, "a-0", "a-1")
	w.pass(60*time.Second, "a-0", "a-1")
	for range 10 {
		w.Unanswered(w.now)
	}
	w.pass(60*time.Second, "a-0")
	require.Empty(t, w.silent())
}

// A detector may end a grace period earlier than the last one.
func TestDetectorIsPolled(t *testing.T) {
	config := TrackerConfig{Health: nodehealth.Config{
		Detector: func() nodehealth.Detector { return detector{} },
	}}
	w := newWorld(t, config, "a-0", "a-1")
	w.now = w.now.Add(5 * time.Second)
	require.True(t, w.beat("a-0"))
}

type detector struct{}

func (detector) Heartbeat(time.Time)        {}
func (detector) GracePeriod() time.Duration { return time.Second }

func TestValidateNamesAllProblems(t *testing.T) {
	window := -time.Second
	config := TrackerConfig{
		Health: nodehealth.Config{GracePeriod: -1, SightTimeout: -1},
		Zones:  zone.Config{ObservationWindow: &window},
	}
	for _, err := range []error{config.Validate(), second(NewTracker(config, time.Now()))} {
		require.ErrorIs(t, err, ErrInvalidConfig)
		for _, name := range []string{"GracePeriod", "SightTimeout", "ObservationWindow"} {
			require.ErrorContains(t, err, name)
		}
	}
	require.ErrorIs(t, second(NewTracker(TrackerConfig{}, time.Time{})), ErrInvalidConfig)
	require.NoError(t, TrackerConfig{}.Validate())
	err := Config{Health: config.Health}.Validate()
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "Factory")
	require.ErrorContains(t, err, "GracePeriod")
	require.ErrorIs(t, second(NewObserver(Config{})), ErrInvalidConfig)
}

func second[T any](_ T, err error) error { return err }

func TestStatesHaveNames(t *testing.T) {
	require.Equal(t, "heard suspected silent", fmt.Sprint(heard, " ", suspected, " ", silent))
}
