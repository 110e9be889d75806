package blast_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/blast"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// small has zone a with 5 nodes and zone b with 6. The pools of zone a have 2
// and 3 nodes.
const small = `name: small
duration: 1h
cluster:
  zones:
  - name: a
    nodes: 5
    groups:
    - {name: a-main-r1, nodes: 2, pool: main, rack: r1}
    - {name: a-gpu, nodes: 3, pool: gpu}
  - name: b
    nodes: 6
    groups:
    - {name: b-main, nodes: 6, pool: main}
  workloads:
  - {name: web, replicas: 16, placed: {a-main-r1: 4, b-main: 12}}
  - {name: db, kind: StatefulSet, replicas: 4, minAvailable: 3, placed: {a-main-r1: 2, b-main: 2}}
  - {name: train, kind: Bare, replicas: 3, tolerationSeconds: 60, placed: {a-gpu: 3}}
  - {name: agent, kind: DaemonSet}
`

func read(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Read("", []byte(text))
	require.NoError(t, err)
	return s
}

func played(t *testing.T, s *scenario.Scenario) *blast.Report {
	t.Helper()
	r, err := blast.Play(t.Context(), s, blast.Config{})
	require.NoError(t, err)
	require.Equal(t, r.Of, r.Done)
	return r
}

// playedSmall returns what small can lose. Several tests read it, and none
// changes it.
func playedSmall(t *testing.T) *blast.Report {
	t.Helper()
	r, err := playSmall()
	require.NoError(t, err)
	require.Equal(t, r.Of, r.Done)
	return r
}

var playSmall = sync.OnceValues(func() (*blast.Report, error) {
	s, err := scenario.Read("", []byte(small))
	if err != nil {
		return nil, err
	}
	return blast.Play(context.Background(), s, blast.Config{})
})

// of returns what the loss of that name comes to.
func of(t *testing.T, r *blast.Report, name string) blast.Played {
	t.Helper()
	i := slices.IndexFunc(r.Losses, func(p blast.Played) bool { return p.String() == name })
	require.GreaterOrEqual(t, i, 0, name)
	return r.Losses[i]
}

func within(t *testing.T, from, to float64, at report.Seconds, what string) {
	t.Helper()
	require.GreaterOrEqual(t, float64(at), from, what)
	require.LessOrEqual(t, float64(at), to, what)
}

// The arithmetic, with the flags' defaults: grace 50 s, 0.1 nodes a second,
// tolerations of 300 s, heartbeats 10 s to 10.4 s apart.
//
// Zone a is lost. Each node's last heartbeat is 0 to 10.4 s before, so its
// grace ends 39.6 to 50 s after. No node of the zone is tainted for one
// observation window, 11 s, after the first of them. That is 50.6 to 61 s, and
// a second for calls. By then all 5 of 5 are silent. That is FullDisruption,
// whose rate is the normal one while zone b is well. So the taints are 10 s
// apart: 5 nodes take 4 times 10 s.
//
// Pods of train leave 60 s after their node's taint, those of web and db 300 s
// after. Each is a second or two later: taints are in whole seconds. Nodes come
// in any order. If a node of gpu is first, the first pod leaves after
// 50.6 + 60 = 110.6 to 62 + 62 = 124 s. If both of main are before it, it is
// 20 s later, at most 144 s. The last pod to leave is one of web, from the last
// node of main that is tainted. That is the second of 5 at the earliest, 10 s
// after the first: 50.6 + 10 + 300 = 360.6 s. At the latest it is the last of
// 5, 40 s after: 62 + 40 + 302 = 404 s.
func TestTheLossOfAZoneByHand(t *testing.T) {
	r := playedSmall(t)
	zone := of(t, r, "zone a")
	require.Equal(t, 5, zone.Nodes)
	given := zone.Outcomes[0]
	require.Equal(t, 5, given.Tainted)
	require.Equal(t, 4+2+3, given.Evicted, "web, db and train; agent tolerates it")
	require.Zero(t, given.EvictedLiving)
	require.Equal(t, []string{"train"}, given.Lost)
	require.True(t, given.Over)
	require.Zero(t, given.Kept)
	within(t, 110.6, 144, given.First, "the first")
	within(t, 360.6, 404, given.Last, "the last")

	// Twice the grace: everything 50 s later. Half the rate: the second node comes
	// 10 s later, the last 40 s later. Tolerations twice as long: the pods of web
	// and db leave 300 s later, those of train 60 s. Taints are in whole seconds,
	// which makes a second more or less.
	names := []string{}
	for _, v := range r.Variants {
		names = append(names, v.Name)
	}
	require.Equal(t, []string{"as given", "grace 1m40s", "rate 0.05/s", "tolerations x2"}, names)
	for _, outcome := range zone.Outcomes {
		require.Equal(t, given.Evicted, outcome.Evicted)
	}
	within(t, 48.5, 51.5, zone.Outcomes[1].First-given.First, "longer grace, the first")
	within(t, 48.5, 51.5, zone.Outcomes[1].Last-given.Last, "longer grace, the last")
	within(t, 8.5, 41.5, zone.Outcomes[2].Last-given.Last, "lower rate, the last")
	within(t, 58.5, 61.5, zone.Outcomes[3].First-given.First, "longer tolerations, the first")
	within(t, 298.5, 301.5, zone.Outcomes[3].Last-given.Last, "longer tolerations, the last")
}

// Pool gpu is 3 of 5 nodes of zone a. That is 60 %, from 55 % on a zone is in
// PartialDisruption, and one with no more than 50 nodes has the rate 0 then.
// Rack r1 is 2 of 5, fewer than the 3 that it takes: Normal, and both nodes are
// tainted. Pool main is rack r1 and all of zone b, which is FullDisruption.
// When all nodes are lost nothing is done. The controller does not act while
// the control plane is away, and afterwards all nodes are heard again.
func TestOtherLossesByHand(t *testing.T) {
	r := playedSmall(t)
	for name, want := range map[string]struct {
		nodes, tainted, evicted int
		lost                    []string
	}{
		"pool gpu":              {3, 0, 0, []string{"train"}},
		"pool main":             {8, 8, 16 + 4, []string{"web", "db"}},
		"rack a/r1":             {2, 2, 4 + 2, []string{}},
		"zone b":                {6, 6, 12 + 2, []string{}},
		"all nodes":             {11, 0, 0, []string{"web", "db", "train"}},
		"control plane for 1m":  {0, 0, 0, []string{}},
		"control plane for 5m":  {0, 0, 0, []string{}},
		"control plane for 30m": {0, 0, 0, []string{}},
	} {
		loss := of(t, r, name)
		o := loss.Outcomes[0]
		require.Equal(t, want.nodes, loss.Nodes, name)
		require.Equal(t, want.tainted, o.Tainted, name)
		require.Equal(t, want.evicted, o.Evicted, name)
		require.Equal(t, want.lost, o.Lost, name)
		require.Zero(t, o.EvictedLiving, name)
		require.True(t, o.Over, name)
	}
	order := []string{}
	for _, loss := range r.Losses {
		order = append(order, loss.String())
	}
	require.Equal(t, []string{"all nodes", "zone a", "pool main", "pool gpu", "zone b", "rack a/r1",
		"control plane for 1m", "control plane for 5m", "control plane for 30m"}, order, "what hurts most is first")
	require.Equal(t, 9*4, r.Of)
}

// The budget of db wants 3 of 4 pods. With zone a lost 2 are left, so the
// Eviction API lets none of the 2 go. It has none to say about web and train.
func TestBudgetsKeepPodsFromTheEvictionAPI(t *testing.T) {
	s := read(t, small)
	require.NoError(t, scenario.Set(s, "action=evict"))
	r := played(t, s)
	require.Equal(t, "evict", r.Action)
	zone := of(t, r, "zone a").Outcomes[0]
	require.Equal(t, 2, zone.Kept)
	require.Equal(t, 4+3, zone.Evicted)
	require.Zero(t, of(t, r, "pool gpu").Outcomes[0].Kept, "nothing is tainted")

	var out strings.Builder
	require.NoError(t, r.Write(&out))
	require.Contains(t, out.String(), "small, seed 0, action evict, grace 50s, rate 0.1/s.")
	require.Regexp(t, `(?m) kept by$\n.* budgets$`, out.String())
	require.Equal(t, 2+3, zone.Down, "two of db are kept; those of train are bare, and not replaced")
	require.Regexp(t, `(?m)^zone a .* 2$\n  grace 1m40s .* 2$`, out.String())
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 120, line)
	}
	require.NotContains(t, out.String(), "--set action=evict")
}

func TestTheTableForPeople(t *testing.T) {
	r := playedSmall(t)
	var out strings.Builder
	require.NoError(t, r.Write(&out))
	lines := map[string]string{}
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if len(fields) > 2 {
			key := strings.Join(fields[:2], " ")
			if _, again := lines[key]; !again {
				lines[key] = strings.Join(fields, " ")
			}
		}
	}
	require.Regexp(t, `^zone a 5 5 9 0 0:0[12]:\d\d 0:06:\d\d 1 1 5$`, lines["zone a"],
		"train is lost for good; it has 3 pods, and db 2 whose node cannot stop them")
	require.Equal(t, "all nodes 11 0 0 0 - - 3 3 23", lines["all nodes"])
	for _, want := range []string{
		"action delete", "With action delete no PodDisruptionBudget keeps a pod; --set action=evict shows",
		"\nWorkloads lost, with * for good:\n  all nodes: web*, db*, train*\n  zone a: train*\n  pool main: web, db*\n",
		"\nWith other settings, where they make a difference:\n", "\n  tolerations x2 ", "What acts is nodelifecycle",
	} {
		require.Contains(t, out.String(), want)
	}
	for _, never := range []string{"kept by budgets", "PARTIAL", "?", "--longest"} {
		require.NotContains(t, out.String(), never)
	}

	var again strings.Builder
	require.NoError(t, played(t, read(t, small)).Write(&again))
	require.Equal(t, out.String(), again.String(), "however many cores play it")
}

// A report of what is known when it is interrupted says that it is partial. The
// runs as given come first.
func TestAnInterruptedReportIsPartial(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var told [][2]int
	r, err := blast.Play(ctx, read(t, small), blast.Config{Workers: 1, Progress: func(p blast.Progress) {
		told = append(told, [2]int{p.Done, p.Of})
		if p.Done == 3 {
			stop()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, []int{3, 4}, r.Done)
	cut := 0
	require.Equal(t, 36, r.Of)
	require.Equal(t, 36, told[0][1])
	known := 0
	for _, loss := range r.Losses {
		require.Nil(t, loss.Outcomes[1])
		switch o := loss.Outcomes[0]; {
		case o == nil:
		case o.Over:
			known++
		default:
			require.True(t, o.Interrupted)
			cut++
		}
	}
	require.Equal(t, r.Done, known)
	require.LessOrEqual(t, cut, 1, "there is one worker")
	require.NotNil(t, r.Losses[0].Outcomes[0], "those that are known are first")
	var out strings.Builder
	require.NoError(t, r.Write(&out))
	require.Regexp(t, `PARTIAL: [34] of 36 runs; \+ is so far, \? is not known.`, out.String())
	require.Regexp(t, `(?m)^control plane for 30m +0( +\?){8}$`, out.String())
}

// Pool big has 20 of the 22 pods of a workload, and 5 of the 6 nodes of zone a.
// So the rate of the zone is 0: no node is tainted, and no pod is replaced.
// That hurts more than pool small, where all pods are replaced. It hurts less
// than all nodes, which leave nothing.
func TestWhatNeverRecoversHurtsMore(t *testing.T) {
	r := played(t, read(t, `name: inv
duration: 1h
cluster:
  zones:
  - name: a
    nodes: 6
    groups:
    - {name: a-big, nodes: 5, pool: big}
    - {name: a-small, nodes: 1, pool: small}
  - name: b
    nodes: 6
    groups:
    - {name: b-other, nodes: 6, pool: other}
  workloads:
  - {name: w, replicas: 22, placed: {a-big: 20, a-small: 1, b-other: 1}}
  - {name: o, replicas: 2, placed: {b-other: 2}}
  - {name: one, replicas: 1, placed: {a-small: 1}}
  - {name: agent, kind: DaemonSet}
`))
	order := []string{}
	for _, loss := range r.Losses {
		order = append(order, loss.String())
	}
	require.Equal(t, []string{"all nodes", "pool big", "zone a", "zone b = pool other", "pool small"}, order[:5])
	big, small := of(t, r, "pool big").Outcomes[0], of(t, r, "pool small").Outcomes[0]
	all := of(t, r, "all nodes").Outcomes[0]
	require.Equal(t, 20, big.Down)
	require.Zero(t, big.Tainted)
	require.Equal(t, "zone a is in PartialDisruption, rate 0/s", big.Untainted)
	require.Equal(t, 25, all.Down, "without those of agent")
	require.Equal(t, []string{"w", "o", "one"}, all.LostForGood)
	require.Equal(t, "Suspended: no node is acted against", all.Untainted)
	require.Equal(t, 2, small.Evicted)
	require.Zero(t, small.Down, "both are replaced")
	require.Equal(t, []string{"one"}, small.Lost)
	require.Empty(t, small.LostForGood, "it comes back")
	require.Empty(t, small.Untainted)
	var out strings.Builder
	require.NoError(t, r.Write(&out))
	require.Contains(t, out.String(), "  all nodes: w*, o*, one*\n")
	require.Contains(t, out.String(), "  pool small: one\n")
	require.Contains(t, out.String(), "\nWhy lost nodes are not tainted:\n"+
		"  all nodes: Suspended: no node is acted against\n  pool big: zone a is in PartialDisruption, rate 0/s\n")
}

// A context that has ended is an error, whether a run has begun or not.
func TestNothingIsPlayedOnceTheContextHasEnded(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for range 20 {
		r, err := blast.Play(ctx, read(t, small), blast.Config{Workers: 2})
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, r.Done)
	}
}

// A run that is as long as it may be says that more was to come.
func TestARunThatIsCutShort(t *testing.T) {
	r, err := blast.Play(t.Context(), read(t, small), blast.Config{Longest: 5 * time.Minute})
	require.NoError(t, err)
	zone := of(t, r, "zone a").Outcomes[0]
	require.False(t, zone.Over)
	require.Equal(t, 3, zone.Evicted, "those of train alone have left in five minutes")
	var out strings.Builder
	require.NoError(t, r.Write(&out))
	require.Contains(t, out.String(), "\n+ So far: the run was as long as it may be (--longest), and more may come. "+
		"It takes about 1h.\n")
	require.Regexp(t, `(?m)^zone a +5 +5\+ +3\+ +0\+ +0:0[12]:\d\d +0:0[12]:\d\d +1\+ +1\+ +9\+$`, out.String())
	require.Contains(t, out.String(), "  all nodes: web, db, train\n", "they may come back")
	require.NotContains(t, out.String(), "*\n")
	require.NotContains(t, out.String(), "*,")
	out.Reset()
	require.NoError(t, r.WritePage(&out, nil, nil))
	require.Contains(t, out.String(), "<td>1&#43;</td><td>1&#43;</td><td>9&#43;</td>")
	require.NotContains(t, out.String(), `<td class="wrong">0&#43;`, "no pod of a living node is evicted so far")
}

// A run waits for the tolerations of pods on tainted nodes: those of patient,
// of five hours, if zone b is lost. The toleration of batch is for a taint that
// no node has, and makes no run longer.
func TestARunWaitsForTolerationsThatEnd(t *testing.T) {
	s := read(t, `name: x
duration: 1h
cluster:
  zones:
  - {name: a, nodes: 3, groups: [{name: a-all, nodes: 3}]}
  - {name: b, nodes: 3, groups: [{name: b-all, nodes: 3}]}
  workloads:
  - name: batch
    replicas: 3
    placed: {a-all: 3}
    tolerations: [{key: example.com/x, operator: Exists, effect: NoExecute, seconds: 18000}]
  - {name: patient, replicas: 3, tolerationSeconds: 18000, placed: {b-all: 3}}
`)
	r, err := blast.Play(t.Context(), s, blast.Config{Longest: time.Hour})
	require.NoError(t, err)
	for _, name := range []string{"zone a", "all nodes", "control plane for 1m", "control plane for 30m"} {
		for v, o := range of(t, r, name).Outcomes {
			require.True(t, o.Over, "%s, %s", name, r.Variants[v].Name)
		}
	}
	a, b := of(t, r, "zone a").Outcomes[0], of(t, r, "zone b").Outcomes[0]
	require.Equal(t, 3, a.Evicted)
	within(t, 0, 3600, a.Until, "6 min until all have left, and then 11 of silence")
	require.False(t, b.Over, "the pods of patient leave after five hours")
	require.Equal(t, 3, b.Down)
	require.Zero(t, b.Evicted)

	r, err = blast.Play(t.Context(), s, blast.Config{Longest: 15 * time.Hour})
	require.NoError(t, err)
	for v, seconds := range []float64{18000, 18000, 18000, 2 * 18000} {
		o := of(t, r, "zone b").Outcomes[v]
		require.True(t, o.Over, r.Variants[v].Name)
		require.Equal(t, 3, o.Evicted)
		within(t, seconds, seconds+600, o.Last, r.Variants[v].Name)
	}
}

// Pool drain has a taint of an administrator, from time zero on. The pod of
// soon leaves it at once, before the loss, and its replacement finds no node.
// Those of later and bare leave it after 600 s, after the loss, whatever is
// lost. None of that is due to a loss, except that of the pool or of all nodes.
func TestATaintOfAnAdministratorIsNoWorkOfALoss(t *testing.T) {
	r := played(t, read(t, `name: x
duration: 1h
cluster:
  zones:
  - name: a
    nodes: 4
    groups:
    - {name: a-main, nodes: 3, pool: main}
    - {name: a-drain, nodes: 1, pool: drain, taints: [{key: maintenance, effect: NoExecute}]}
  - {name: b, nodes: 4, groups: [{name: b-main, nodes: 4, pool: main}]}
  workloads:
  - {name: soon, replicas: 1, placed: {a-drain: 1}, pools: [drain]}
  - name: later
    replicas: 2
    placed: {a-drain: 1, b-main: 1}
    tolerations: [{key: maintenance, operator: Exists, effect: NoExecute, seconds: 600}]
  - name: bare
    kind: Bare
    replicas: 1
    placed: {a-drain: 1}
    tolerations: [{key: maintenance, operator: Exists, effect: NoExecute, seconds: 600}]
`))
	for _, name := range []string{"control plane for 30m", "zone b", "pool drain"} {
		for v, o := range of(t, r, name).Outcomes {
			require.Zero(t, o.EvictedLiving, "%s, %s", name, r.Variants[v].Name)
		}
	}
	for _, minutes := range []string{"1m", "5m", "30m"} {
		o := of(t, r, "control plane for "+minutes).Outcomes[0]
		require.Zero(t, o.Evicted)
		require.Zero(t, o.Down)
		require.Empty(t, o.Lost)
	}
	for _, o := range of(t, r, "all nodes").Outcomes {
		require.True(t, o.Over)
		require.Zero(t, o.Evicted, "the controller is suspended, and taints nothing")
		require.Equal(t, []string{"later", "bare"}, o.LostForGood)
	}
	b := of(t, r, "zone b").Outcomes[0]
	require.Equal(t, 1, b.Evicted, "that of later")
	require.Zero(t, b.Down, "it is replaced in zone a")
	require.Equal(t, []string{"bare"}, of(t, r, "pool drain").Outcomes[0].LostForGood)
}

// Tolerations of as many seconds as there can be, and runs as long as there can
// be, are played.
func TestTheLongestIsPlayed(t *testing.T) {
	s := read(t, `name: x
duration: 1h
cluster:
  zones: [{name: a, nodes: 2}, {name: b, nodes: 2}]
  workloads:
  - {name: w, replicas: 2, tolerationSeconds: 9223372036854775807}
  - name: v
    replicas: 2
    tolerations: [{key: x, operator: Exists, effect: NoExecute, seconds: 4611686018427387904}]
`)
	require.Positive(t, played(t, s).Done)
	s.Cluster.Workloads = nil
	r, err := blast.Play(t.Context(), s, blast.Config{Longest: 720 * time.Hour})
	require.NoError(t, err)
	require.Equal(t, r.Of, r.Done)
}

func TestWhatCannotBePlayed(t *testing.T) {
	_, err := blast.Play(t.Context(), read(t, small), blast.Config{Longest: -1, Workers: -2})
	require.ErrorContains(t, err, "Longest is -1ns, want 0 for the default")
	require.ErrorContains(t, err, "Workers is -2, want 0 for one a core")
	_, err = blast.Play(t.Context(), &scenario.Scenario{}, blast.Config{})
	require.ErrorContains(t, err, "cluster.zones: there is none")
	s := read(t, small)
	require.NoError(t, scenario.Set(s, "node-monitor-grace-period=400h"))
	r, err := blast.Play(t.Context(), s, blast.Config{})
	require.ErrorContains(t, err, "as given: script[0].at: is 800h1m; at most 720h")
	require.Nil(t, r, "twice the grace is too long, and so nothing is played")
}

// Racks that are numbered are losses too, and a zone of one rack is none more.
func TestNumberedRacks(t *testing.T) {
	s := read(t, "name: x\nduration: 1h\ncluster:\n  zones:\n  - {name: a, nodes: 4, racks: 2}\n"+
		"  - {name: b, nodes: 1, racks: 1}\n")
	names := []string{}
	for _, loss := range blast.Losses(s) {
		names = append(names, loss.String())
	}
	require.Equal(t, []string{"all nodes", "zone a", "zone b", "rack a/0", "rack a/1", "control plane for 1m",
		"control plane for 5m", "control plane for 30m"}, names)
}

// With one zone and one pool, all nodes, the zone and the pool are one loss. So
// are a zone and its only rack, and a pool and the rack that has all of it.
// Parts that are as large as others but not the same are played.
func TestTheSameNodesAreLostOnce(t *testing.T) {
	names := func(zones string) (names []string) {
		s := read(t, "name: x\nduration: 1h\ncluster:\n  zones:\n"+zones)
		for _, loss := range blast.Losses(s) {
			if loss.Kind != blast.KindControlPlane {
				names = append(names, loss.String())
			}
		}
		return names
	}
	require.Equal(t, []string{"all nodes = zone no-zone = pool x"},
		names("  - {name: no-zone, nodes: 2, groups: [{name: x, nodes: 2, pool: x}]}\n"))
	require.Equal(t, []string{"all nodes", "zone a = rack a/r1", "zone b", "pool p", "pool q = rack b/r3",
		"rack b/r2"}, names(`  - {name: a, nodes: 2, groups: [{name: a1, nodes: 1, pool: p, rack: r1}, {name: a2, nodes: 1, rack: r1}]}
  - {name: b, nodes: 2, groups: [{name: b1, nodes: 1, pool: p, rack: r2}, {name: b2, nodes: 1, pool: q, rack: r3}]}
`))
	require.Equal(t, []string{"all nodes", "zone a = pool p", "zone b = pool q"}, names(
		"  - {name: a, nodes: 2, groups: [{name: a1, nodes: 2, pool: p}]}\n"+
			"  - {name: b, nodes: 2, groups: [{name: b1, nodes: 2, pool: q}]}\n"))

	require.Equal(t, []string{"all nodes = zone a", "pool p", "pool q", "rack a/r1", "rack a/r2"}, names(
		`  - {name: a, nodes: 4, groups: [{name: a1, nodes: 1, pool: p, rack: r1}, {name: a2, nodes: 1, pool: p, rack: r2},
    {name: a3, nodes: 1, pool: q, rack: r1}, {name: a4, nodes: 1, pool: q, rack: r2}]}
`))
	require.Equal(t, []string{"all nodes", "zone a", "zone b", "rack b/0", "rack b/1"},
		names("  - {name: a, nodes: 2}\n  - {name: b, nodes: 4, racks: 2}\n"))

	r := played(t, read(t, "name: x\nduration: 1h\ncluster:\n  zones: [{name: a, nodes: 2}]\n"))
	require.Equal(t, 4*4, r.Of)
	require.Equal(t, 2, of(t, r, "all nodes = zone a").Nodes)
	data, err := json.Marshal(r.Losses[0])
	require.NoError(t, err)
	require.Contains(t, string(data), `"kind":"all nodes","same":[{"kind":"zone","name":"a"}],"nodes":2`)
}

// The page has what the table has, with all variants, and plots of the losses
// after which something was done.
func TestThePage(t *testing.T) {
	r := playedSmall(t)
	var out strings.Builder
	notes := append(slices.Repeat([]string{strings.Repeat("long ", 22)}, 50), "a note <of> what is missing")
	require.NoError(t, r.WritePage(&out, []string{"seed=1"}, notes))
	text := out.String()
	for _, want := range []string{
		"<title>small: what it can lose</title>", "What acts is nodelifecycle", "<li>a note &lt;of&gt; what is missing</li>",
		"<code>seed=1</code>", "<h2>What hurts, worst first</h2>", "<td>zone a is in PartialDisruption, rate 0/s</td>",
		"<th scope=\"row\">  tolerations x2</th>", "<td>web, db*</td>", "the last of 9 pods is evicted",
	} {
		require.Contains(t, text, want)
	}
	require.Less(t, strings.Index(text, `<th scope="row">zone a</th>`), strings.Index(text, `<th scope="row">zone b</th>`))
	_, rest, _ := strings.Cut(text, `id="data">`)
	rest, _, _ = strings.Cut(rest, "</script>")
	var data struct {
		At    [][]float64
		Plots []struct {
			Title string
			Lines []struct {
				Name   string
				Values [][]int
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(rest), &data))
	require.Len(t, data.Plots, 2+4, "zone a, pool main, zone b, rack a/r1")
	evicted := data.Plots[0].Lines[0]
	require.Equal(t, "zone a", evicted.Name)
	require.Len(t, evicted.Values[0], len(data.At[0]))
	require.IsNonDecreasing(t, evicted.Values[0])
	require.Equal(t, 9, evicted.Values[0][len(data.At[0])-1])
	require.Equal(t, "Pods evicted so far, zone a", data.Plots[2].Title)
	require.Len(t, data.Plots[2].Lines, 4)
	require.Less(t, len(text), 1<<18)
}

func TestTheReportInJSON(t *testing.T) {
	data, err := json.Marshal(playedSmall(t))
	require.NoError(t, err)
	var back struct {
		Action   string
		Variants []struct{ Settings []string }
		Losses   []struct {
			Kind, Name string
			Nodes      int
			Outcomes   []blast.Outcome
		}
		Done, Of int
	}
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, "delete", back.Action)
	require.Equal(t, []string{"node-monitor-grace-period=1m40s"}, back.Variants[1].Settings)
	require.Equal(t, "all nodes", back.Losses[0].Kind)
	require.Equal(t, "main", back.Losses[2].Name)
	require.Len(t, back.Losses[2].Outcomes, 4)
	require.Equal(t, 20, back.Losses[2].Outcomes[0].Evicted)
	require.Equal(t, []string{"db"}, back.Losses[2].Outcomes[0].LostForGood)
	require.Equal(t, back.Of, back.Done)
}
