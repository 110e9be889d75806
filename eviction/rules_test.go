package eviction

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// E14: what a pod must, and what it may while some of that is held, everywhere
// or on its node.
func TestE14RulesSayWhatAPodMustAndMay(t *testing.T) {
	_, pods := newStagesOf(t, "p")
	e := pods["p"]
	n := e.Value().node
	since := func(key string, seconds int) Taint {
		return Taint{Taint: corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute},
			Start: someTime.Add(time.Duration(seconds) * time.Second)}
	}
	n.taints = []Taint{since("a", 1), since("b", 2)}
	r := rules{
		config: &Config{Holds: []Hold{
			holdOfKey("a"), {Name: "all"}, {Name: "requests", Taints: holdOfKey("").Taints, Requests: true},
		}},
		epoch: someTime, attempts: newAttempts(timedqueue.Backoff{}),
	}
	decided := func(held, onNode holdSet) (must, may *ruling) {
		must, r.held, n.held = new(ruling), held, onNode
		r.must(must, e)
		return must, r.may(e, must)
	}
	for _, test := range []struct {
		held, onNode holdSet
		may          string // the key of the taint
		holding      string
	}{
		{0, 0, "a", ""}, {1, 0, "b", "a"}, {0, 1, "b", "a"}, {2, 0, "", "all"}, {1, 2, "", "a"},
		{4, 0, "a", ""},
	} {
		must, may := decided(test.held, test.onNode)
		require.Equal(t, "a", must.taint.Key, "%+v", test)
		require.Equal(t, test.may != "", may.leaves(), "%+v", test)
		if test.may != "" {
			require.Equal(t, test.may, may.taint.Key, "%+v", test)
		}
		if test.holding != "" {
			require.Equal(t, test.holding, r.holding(n, must.decision()), "%+v", test)
		}
	}
	n.taints, n.eviction = nil, &request{due: someTime}
	must, may := decided(4, 0)
	require.Equal(t, ReasonNodeEvicted, must.reason)
	require.False(t, may.leaves())
	require.Equal(t, "requests", r.holding(n, must.decision()))
	e.Value().kind = ofNode
	must, _ = decided(0, 0)
	require.Equal(t, ReasonNoTaints, must.reason)
	e.Value().kind = exempt
	must, _ = decided(0, 0)
	require.Equal(t, ReasonExempt, must.reason)
	e.Value().state = leaving
	must, _ = decided(0, 0)
	require.Equal(t, ReasonGone, must.reason)
}
