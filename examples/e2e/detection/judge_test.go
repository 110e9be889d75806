package detection

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

const grace = 10 * time.Second

// dead is a node whose last heartbeat came at 0 and died at 2. It was
// Unknown at 12 and tainted at 13.
func dead(pods ...pod) node {
	return node{
		Life: fleet.Life{
			Node: witness.Node{Unknown: since(12), Tainted: since(13.2), TaintAdded: after(13)},
			Name: "a-0", Died: after(2),
		},
		lastBeat: after(0), pods: pods,
	}
}

// untimed is a dead node with a taint that does not say when it was added.
func untimed(p pod) node {
	return node{
		Life:     fleet.Life{Node: witness.Node{Unknown: since(11), Tainted: since(11)}, Died: after(2)},
		lastBeat: after(1), pods: []pod{p},
	}
}

func living(pods ...pod) node {
	return node{Life: fleet.Life{Name: "b-0"}, lastBeat: after(60), pods: pods}
}

func judged(t *testing.T, nodes ...node) *verdict {
	t.Helper()
	v, err := judge(nodes, grace)
	require.NoError(t, err)
	return v
}

// faults returns what the record of a verdict says is wrong.
func faults(v *verdict) string {
	var record sidebyside.Record
	v.addTo(&record)
	return strings.Join(record.Faults(), ", ")
}

func TestDelaysCountFromTheDeathAndWithoutTheToleration(t *testing.T) {
	v := judged(t, living(pod{name: "stays"}), dead(
		pod{name: "soon", evicted: after(14)},
		pod{name: "patient", tolerates: 5 * time.Second, evicted: after(20)},
		pod{name: "tolerant", tolerates: fleet.Forever},
	))
	require.Empty(t, faults(v))
	require.Equal(t, &verdict{
		living: 1, dead: 1, detected: delays{10 * time.Second},
		tainted: delays{11200 * time.Millisecond}, evicted: delays{12 * time.Second, 13 * time.Second},
	}, v)
}

func TestWrongEvictions(t *testing.T) {
	const patient = 5 * time.Second
	for name, test := range map[string]struct {
		node node
		want wrong // empty: it is right
	}{
		"on a living node":              {living(pod{evicted: after(40)}), wrongLiving},
		"tolerant, on a living node":    {living(pod{evicted: after(40), tolerates: fleet.Forever}), wrongLiving},
		"tolerant":                      {dead(pod{evicted: after(40), tolerates: fleet.Forever}), wrongTolerant},
		"before the node died":          {dead(pod{evicted: after(1)}), wrongEarly},
		"before its toleration is over": {dead(pod{evicted: after(17.9), tolerates: patient}), wrongEarly},
		"when its toleration is over":   {dead(pod{evicted: after(18), tolerates: patient}), ""},
		"when the node is tainted":      {dead(pod{evicted: after(13)}), ""},
		"before the taint, which says so": {
			dead(pod{evicted: after(12.9)}), wrongEarly,
		},
		"within the grace period, of a taint without a time": {
			untimed(pod{evicted: after(10.9)}), wrongEarly,
		},
		"within its toleration, of a taint without a time": {
			untimed(pod{evicted: after(15.9), tolerates: patient}), wrongEarly,
		},
		"after the grace period, of a taint without a time": {
			untimed(pod{evicted: after(11)}), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := judged(t, test.node, dead(pod{evicted: after(14)}))
			if test.want == "" {
				require.Empty(t, faults(v))
				return
			}
			require.Equal(t, "pods evicted wrongly: "+string(test.want)+": 1", faults(v))
			require.Len(t, v.faults, 1)
		})
	}
}

func TestWhatIsMissed(t *testing.T) {
	gone := pod{evicted: after(20)}
	untainted, unseen := dead(gone), dead(gone)
	untainted.Tainted, unseen.Unknown = nil, nil
	v := judged(t, untainted, unseen, dead(gone))
	require.Equal(t, 2, v.missed)
	require.Len(t, v.detected, 2)
	require.Len(t, v.tainted, 2)
	require.Equal(t, "dead nodes missed: 2", faults(v))

	v = judged(t, dead(gone, pod{}, pod{tolerates: fleet.Forever}))
	require.Equal(t, 1, v.left, "a tolerant one stays")
	require.Equal(t, "pods left that must leave: 1", faults(v))

	unknown, tainted := living(), living()
	unknown.Unknown, tainted.Tainted = since(50), since(50)
	v = judged(t, dead(gone), unknown, tainted, living())
	require.Equal(t, 2, v.declared)
	require.Equal(t, "living nodes declared: 2", faults(v))
}

// A node of which a subject has said before its grace period was over that it
// is dead was living then, though it died later.
func TestADeclarationBeforeTheGracePeriodIsOverIsNoDetection(t *testing.T) {
	gone := pod{evicted: after(20)}
	early, wrong, again, lucky := dead(gone), dead(gone), dead(gone), dead(gone)
	early.Unknown = since(9.9)
	wrong.Unknown = []witness.Sighting{{At: after(-60), Ended: after(-50)}}
	again.Tainted = append([]witness.Sighting{{At: after(-60), Ended: after(-50)}}, again.Tainted...)
	lucky.Unknown = since(10)
	v := judged(t, early, wrong, again, lucky)
	require.Equal(t, 3, v.declared)
	require.Equal(t, 1, v.missed, "nothing has said since that it is dead")
	require.Equal(t, delays{8 * time.Second}, v.detected)
	require.Equal(t, delays{11200 * time.Millisecond}, v.tainted)
	require.Equal(t, "living nodes declared: 3, dead nodes missed: 1", faults(v))
}

func TestAHistoryThatProvesNothingIsAnError(t *testing.T) {
	_, err := judge([]node{living(pod{})}, grace)
	require.ErrorIs(t, err, errNothing, "no node died")
	_, err = judge([]node{dead(pod{tolerates: fleet.Forever})}, grace)
	require.ErrorIs(t, err, errNothing, "no pod had to leave")
	silent := living()
	silent.silence = grace - 1
	judged(t, silent, dead(pod{}))
	silent.silence = grace
	_, err = judge([]node{dead(), silent}, grace)
	require.ErrorIs(t, err, errSilent)
	require.ErrorContains(t, err, "b-0 for 10s")
	silent = dead()
	silent.silence = grace
	_, err = judge([]node{silent}, grace)
	require.ErrorIs(t, err, errSilent, "before it died")
}

func TestTheRowsOfAVerdict(t *testing.T) {
	v := judged(t, living(pod{name: "kept", evicted: after(30)}), dead(pod{evicted: after(14)}, pod{evicted: after(22)}))
	var record sidebyside.Record
	v.addTo(&record)
	require.Equal(t, []string{
		"Unknown, first: 10.0 s", "Unknown, median: 10.0 s", "Unknown, 99 %: 10.0 s", "Unknown, last: 10.0 s",
		"NoExecute taint, first: 11.2 s", "NoExecute taint, median: 11.2 s", "NoExecute taint, 99 %: 11.2 s",
		"NoExecute taint, last: 11.2 s",
		"pod evicted, first: 12.0 s", "pod evicted, median: 12.0 s", "pod evicted, 99 %: 20.0 s",
		"pod evicted, last: 20.0 s", "pods evicted: 2",
		"pods evicted wrongly: its node lives: 1", "pods evicted wrongly: it tolerates the taint for ever: 0",
		"pods evicted wrongly: it is early: 0", "living nodes declared: 0", "dead nodes missed: 0",
		"pods left that must leave: 0",
	}, record.Rows())
	require.Equal(t, []string{"pod kept was evicted wrongly: its node lives"}, record.Told)
}

func TestQuantilesAreNearestRanks(t *testing.T) {
	var d delays
	for i := 200; i >= 1; i-- {
		d = append(d, time.Duration(i))
	}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 100, 0.99: 198, 1: 200} {
		require.Equal(t, want, d.quantile(share), share)
	}
	require.Equal(t, time.Duration(200), d[0], "the order stays")
	three := delays{3, 1, 2}
	require.Equal(t, time.Duration(2), three.quantile(0.5))
	require.Equal(t, time.Duration(3), three.quantile(0.99))
	require.Zero(t, delays(nil).quantile(0.5))
}
