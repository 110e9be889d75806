package evictions

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// at is so many seconds after noon; 0 is the zero time.
func at(seconds float64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// The history of each pod ends late enough to tell whether it is lost. A pod is
// in time for 3 seconds.
var theEnd = at(130)

const inTime = 3 * time.Second

func TestEachFaultIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		pod  pod
		want Counts
	}{
		"evicted when due": {pod{due: at(60), left: at(60), by: sidebyside.User}, Counts{Must: 1, Evicted: 1}},
		"evicted in time": {pod{due: at(60), left: at(63), by: sidebyside.User},
			Counts{Must: 1, Evicted: 1, Latest: 3 * time.Second}},
		"evicted early": {pod{due: at(60), left: at(59.999), by: sidebyside.User}, Counts{Must: 1, Early: 1}},
		"evicted late": {pod{due: at(60), left: at(63.5), by: sidebyside.User},
			Counts{Must: 1, Evicted: 1, Late: 1, Latest: 3500 * time.Millisecond}},
		"never evicted":                 {pod{due: at(60)}, Counts{Must: 1, Lost: 1}},
		"stays as it must":              {pod{}, Counts{}},
		"evicted though it must stay":   {pod{left: at(1), by: sidebyside.User}, Counts{Wrong: 1}},
		"deleted by another":            {pod{left: at(1), by: "another"}, Counts{}},
		"another came before it is due": {pod{due: at(60), left: at(59), by: "another"}, Counts{}},
		"another came in time":          {pod{due: at(60), left: at(63), by: "another"}, Counts{}},
		"another came when it was late": {pod{due: at(60), left: at(64), by: "another"}, Counts{Must: 1, Late: 1}},
		"before the budget allows it": {pod{due: at(60), allowed: at(70), left: at(69), by: sidebyside.User},
			Counts{Must: 1, Wrong: 1}},
		"when the budget allows it": {pod{due: at(60), allowed: at(70), left: at(71), by: sidebyside.User},
			Counts{Must: 1, Evicted: 1, Latest: time.Second}},
		"early is worse than a budget": {pod{due: at(60), allowed: at(70), left: at(59), by: sidebyside.User},
			Counts{Must: 1, Early: 1}},
		"late counts from when it can": {pod{due: at(60), possible: at(70), left: at(72), by: sidebyside.User},
			Counts{Must: 1, Evicted: 1, Latest: 2 * time.Second}},
		"late after it could": {pod{due: at(60), possible: at(70), left: at(74), by: sidebyside.User},
			Counts{Must: 1, Evicted: 1, Late: 1, Latest: 4 * time.Second}},
		"while it could hardly": {pod{due: at(60), possible: at(70), left: at(65), by: sidebyside.User},
			Counts{Must: 1, Evicted: 1}},
		"an obstacle before it is due": {pod{due: at(60), possible: at(50), left: at(62), by: sidebyside.User},
			Counts{Must: 1, Evicted: 1, Latest: 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			counts, err := count([]*pod{&c.pod}, inTime, theEnd)
			require.NoError(t, err)
			require.Equal(t, &c.want, counts)
		})
	}
}

func TestCountsAreSums(t *testing.T) {
	counts, err := count([]*pod{
		{due: at(60), left: at(61), by: sidebyside.User},
		{due: at(60), left: at(62), by: sidebyside.User},
		{due: at(60), left: at(65), by: sidebyside.User},
		{due: at(60), left: at(1), by: sidebyside.User},
		{due: at(60)},
		{},
		{left: at(60), by: sidebyside.User},
	}, inTime, theEnd)
	require.NoError(t, err)
	require.Equal(t, &Counts{Must: 5, Evicted: 3, Early: 1, Late: 1, Latest: 5 * time.Second, Lost: 1, Wrong: 1},
		counts)
}

func TestOnlyAFlawlessHistoryHasNoFault(t *testing.T) {
	require.Empty(t, (&Counts{Must: 2, Evicted: 2, Latest: time.Second}).record().Faults())
	for name, counts := range map[string]Counts{
		"nothing to judge": {},
		"early":            {Must: 2, Evicted: 1, Early: 1},
		"late":             {Must: 2, Evicted: 2, Late: 1},
		"lost":             {Must: 2, Evicted: 1, Lost: 1},
		"wrong":            {Must: 2, Evicted: 2, Wrong: 1},
		"unaccounted":      {Must: 2, Evicted: 1},
	} {
		require.NotEmpty(t, counts.record().Faults(), name)
	}
}

func TestAHistoryThatEndsTooSoonAllowsNoVerdict(t *testing.T) {
	stays := []*pod{{name: "web", due: at(60)}}
	_, err := count(stays, inTime, at(119.9))
	require.EqualError(t, err, "pod web: the history ends too soon to tell whether it is lost")
	_, err = count(stays, inTime, at(120))
	require.NoError(t, err)
}

func TestDutyFollowsFromTaintArrivalAndToleration(t *testing.T) {
	c := &cluster{tainted: map[string]time.Time{"ill": at(10)}, free: at(40)}
	minute, guarded := group{tolerates: time.Minute}, group{guarded: true}
	for name, test := range map[string]struct {
		pod           pod
		due, possible time.Time
	}{
		"on another node":         {pod{node: "calm"}, at(0), at(0)},
		"tolerates for ever":      {pod{node: "ill", group: group{tolerates: fleet.Forever}}, at(0), at(0)},
		"tolerates nothing":       {pod{node: "ill", arrived: at(1)}, at(10), at(40)},
		"was there before":        {pod{node: "ill", arrived: at(1), group: minute}, at(70), at(40)},
		"came after the taint":    {pod{node: "ill", arrived: at(15), group: minute}, at(75), at(40)},
		"its budget never allows": {pod{node: "ill", group: guarded}, at(0), at(0)},
		"its budget has allowed":  {pod{node: "ill", group: guarded, allowed: at(30)}, at(10), at(40)},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := test.pod.allowed
			c.oblige(&test.pod)
			require.Equal(t, test.due, test.pod.due)
			require.Equal(t, test.possible, test.pod.possible)
			require.Equal(t, allowed, test.pod.allowed)
		})
	}
}

// request is one that was answered at once, if it was answered.
func request(id, user string, code int, received float64) controlplane.Request {
	r := controlplane.Request{ID: id, User: user, Code: code, Received: at(received)}
	if code > 0 {
		r.Answered = r.Received
	}
	return r
}

// slow is a request that was answered later.
func slow(id, user string, received, answered float64) controlplane.Request {
	r := request(id, user, http.StatusOK, received)
	r.Answered = at(answered)
	return r
}

func TestTheEndIsTheRequestWithinAPodsLife(t *testing.T) {
	both := []controlplane.Request{
		request("1", "scenario", http.StatusOK, 10),
		request("2", sidebyside.User, http.StatusOK, 20),
	}
	for name, test := range map[string]struct {
		requests   []controlplane.Request
		made, next time.Time
		want       string
	}{
		"of the first of its name":  {both, at(1), at(11), "1"},
		"of the second of its name": {both, at(11), time.Time{}, "2"},
		"answered rather than unanswered": {
			[]controlplane.Request{
				request("1", "scenario", http.StatusCreated, 10), request("2", sidebyside.User, 0, 20),
			}, at(1), time.Time{}, "1",
		},
		"unanswered if there is no other": {
			[]controlplane.Request{request("1", sidebyside.User, 0, 10)}, at(1), time.Time{}, "1",
		},
		"none": {both[:1], at(11), time.Time{}, ""},
		"under way when the pod was made": {
			[]controlplane.Request{slow("1", sidebyside.User, 10, 12)}, at(11), time.Time{}, "1",
		},
		"within rather than before": {
			[]controlplane.Request{slow("1", sidebyside.User, 10, 12), request("2", "scenario", 200, 13)},
			at(11), time.Time{}, "2",
		},
		"the scenario's carries a UID": {
			[]controlplane.Request{slow("1", "scenario", 10, 12)}, at(11), time.Time{}, "",
		},
		"received before and never answered": {
			[]controlplane.Request{request("1", sidebyside.User, 0, 10)}, at(11), time.Time{}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := end(test.requests, test.made, test.next)
			require.Equal(t, test.want != "", found >= 0)
			if found >= 0 {
				require.Equal(t, test.want, test.requests[found].ID)
			}
		})
	}
}

// TestADeletionByNameThatEndsTheNextPodIsTheSubjects has the times of a run in
// which kube-controller-manager deleted a pod that it had never seen.
func TestADeletionByNameThatEndsTheNextPodIsTheSubjects(t *testing.T) {
	const name = "due-70"
	ten := group{tolerates: 10 * time.Second}
	before := &pod{name: name, node: "ill", uid: "old", group: ten, made: at(1), arrived: at(1)}
	next := &pod{name: name, node: "ill", uid: "new", group: ten, made: at(23), arrived: at(23)}
	c := &cluster{tainted: map[string]time.Time{"ill": at(10)}, pods: []*pod{before, next}}
	require.NoError(t, c.explain(nil, map[string][]controlplane.Request{name: {
		request("1", "scenario", http.StatusOK, 21),
		slow("2", sidebyside.User, 22, 25),
	}}))
	require.Equal(t, at(23), next.left)
	require.Equal(t, sidebyside.User, next.by)
	require.Equal(t, at(33), next.due)
	require.Equal(t, at(21), before.left)
	require.Equal(t, "scenario", before.by)
	require.Equal(t, at(20), before.due)
	counts, err := count(c.pods, inTime, at(30))
	require.NoError(t, err)
	require.Equal(t, &Counts{Must: 1, Early: 1}, counts)
}

func TestAnEndThatNoRequestExplainsAllowsNoVerdict(t *testing.T) {
	c := &cluster{pods: []*pod{{name: "web", node: "calm", made: at(1)}}}
	require.EqualError(t, c.explain(nil, nil), "pod web: no request explains that it left")
}
