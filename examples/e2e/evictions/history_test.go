package evictions

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func TestDutyFollowsFromTaintArrivalAndToleration(t *testing.T) {
	c := &cluster{tainted: map[string]time.Time{"ill": at(10)}, free: at(40)}
	for name, test := range map[string]struct {
		pod  pod
		want judge.Duty
	}{
		"on another node":    {pod{node: "calm"}, judge.Duty{}},
		"tolerates for ever": {pod{node: "ill", tolerates: forever}, judge.Duty{}},
		"tolerates nothing":  {pod{node: "ill", arrived: at(1)}, judge.Duty{Due: at(10), Possible: at(40)}},
		"was there before": {pod{node: "ill", arrived: at(1), tolerates: time.Minute},
			judge.Duty{Due: at(70), Possible: at(40)}},
		"came after the taint": {pod{node: "ill", arrived: at(15), tolerates: time.Minute},
			judge.Duty{Due: at(75), Possible: at(40)}},
		"its budget never allows": {pod{node: "ill", guarded: true}, judge.Duty{}},
		"its budget has allowed it": {pod{node: "ill", guarded: true, allowed: at(30)},
			judge.Duty{Due: at(10), Allowed: at(30), Possible: at(40)}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, c.duty(&test.pod))
		})
	}
}

// request is one that was answered at once, if it was answered.
func request(id, user string, code, received int) controlplane.Request {
	r := controlplane.Request{ID: id, User: user, Code: code, Received: at(received)}
	if code > 0 {
		r.Answered = r.Received
	}
	return r
}

// slow is a request that was answered later.
func slow(id, user string, received, answered int) controlplane.Request {
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
			found, ok := end(test.requests, test.made, test.next)
			require.Equal(t, test.want, found.ID)
			require.Equal(t, test.want != "", ok)
		})
	}
}

// TestADeletionByNameThatEndsTheNextPodIsTheSubjects has the times of a run in
// which kube-controller-manager deleted a pod that it had never seen.
func TestADeletionByNameThatEndsTheNextPodIsTheSubjects(t *testing.T) {
	const name = "due-70"
	c := &cluster{tainted: map[string]time.Time{"ill": at(10)}, pods: []*pod{
		{name: name, node: "ill", uid: "old", tolerates: 10 * time.Second, made: at(1), arrived: at(1)},
		{name: name, node: "ill", uid: "new", tolerates: 10 * time.Second, made: at(23), arrived: at(23)},
	}}
	cases := c.cases(nil, map[string][]controlplane.Request{name: {
		request("1", "scenario", http.StatusOK, 21),
		slow("2", sidebyside.User, 22, 25),
	}})
	require.Equal(t, []judge.Case{
		{
			Life: judge.Life{Pod: "default/" + name, Left: at(23), By: sidebyside.User},
			Duty: judge.Duty{Due: at(33)},
		},
		{
			Life: judge.Life{Pod: "default/" + name, Left: at(21), By: "scenario"},
			Duty: judge.Duty{Due: at(20)},
		},
	}, cases)
	counts, err := judge.Count(cases, judge.Rules{Subject: sidebyside.User, Late: 3 * time.Second})
	require.NoError(t, err)
	require.Equal(t, judge.Counts{Must: 1, Early: 1}, counts)
}

func TestAnEndThatNoRequestExplainsAllowsNoVerdict(t *testing.T) {
	c := &cluster{pods: []*pod{{name: "web", node: "calm", made: at(1)}}}
	cases := c.cases(nil, nil)
	require.Equal(t, judge.Life{Pod: "default/web", Left: at(1)}, cases[0].Life)
	_, err := judge.Count(cases, judge.Rules{Subject: sidebyside.User})
	require.ErrorContains(t, err, "pod default/web: no request explains")
}
