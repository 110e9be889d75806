package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func TestDutyFollowsFromTaintArrivalAndToleration(t *testing.T) {
	c := &cluster{tainted: map[string]time.Time{"ill": at(10)}, free: at(40)}
	for name, test := range map[string]struct {
		pod  pod
		want judge.Duty
	}{
		"on another node":           {pod{node: "calm"}, judge.Duty{}},
		"tolerates for ever":        {pod{node: "ill", tolerates: forever}, judge.Duty{}},
		"tolerates nothing":         {pod{node: "ill", arrived: at(1)}, judge.Duty{Due: at(10), Possible: at(40)}},
		"was there before":          {pod{node: "ill", arrived: at(1), tolerates: time.Minute}, judge.Duty{Due: at(70), Possible: at(40)}},
		"came after the taint":      {pod{node: "ill", arrived: at(15), tolerates: time.Minute}, judge.Duty{Due: at(75), Possible: at(40)}},
		"its budget never allows":   {pod{node: "ill", guarded: true}, judge.Duty{}},
		"its budget has allowed it": {pod{node: "ill", guarded: true, allowed: at(30)}, judge.Duty{Due: at(10), Allowed: at(30), Possible: at(40)}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, c.duty(&test.pod))
		})
	}
}

func request(id, user string, code, received int) controlplane.Request {
	return controlplane.Request{ID: id, User: user, Code: code, Received: at(received)}
}

func TestTheEndIsTheRequestWithinAPodsLife(t *testing.T) {
	both := []controlplane.Request{
		request("1", "scenario", http.StatusOK, 10),
		request("2", user, http.StatusOK, 20),
	}
	for name, test := range map[string]struct {
		requests   []controlplane.Request
		made, next time.Time
		left       time.Time
		by         string
	}{
		"of the first of its name":        {both, at(1), at(11), at(10), "scenario"},
		"of the second of its name":       {both, at(11), time.Time{}, at(20), user},
		"answered rather than unanswered": {[]controlplane.Request{request("1", "scenario", http.StatusCreated, 10), request("2", user, 0, 20)}, at(1), time.Time{}, at(10), "scenario"},
		"unanswered if there is no other": {[]controlplane.Request{request("1", user, 0, 10)}, at(1), time.Time{}, at(10), user},
		"nobody's":                        {both[:1], at(11), time.Time{}, at(11), ""},
	} {
		t.Run(name, func(t *testing.T) {
			left, by := end(test.requests, test.made, test.next)
			require.Equal(t, test.by, by)
			require.Equal(t, test.left, left)
		})
	}
}
