package scenario_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

var randomScenarios = seeds.Sized(100, 500)

func TestRandomScenariosAreValid(t *testing.T) {
	for seed := range uint64(randomScenarios) {
		require.NoError(t, randomScenario(seed).Validate(), "seed %d", seed)
	}
}

func TestWhatIsWrittenReadsTheSame(t *testing.T) {
	for seed := range uint64(randomScenarios) {
		s := randomScenario(seed)
		text, err := scenario.Write(s)
		require.NoError(t, err, "seed %d", seed)
		back, err := scenario.Read("f.yaml", text)
		require.NoError(t, err, "seed %d:\n%s", seed, text)
		requireSame(t, s, back, "seed %d:\n%s", seed, text)
	}
}

// The usual reader of Kubernetes' YAML is a second opinion on what the text
// means.
func TestWhatIsWrittenIsOrdinaryYAML(t *testing.T) {
	for seed := range uint64(randomScenarios) {
		s := randomScenario(seed)
		s.Controller.Flags = nil // it reads 0.10 as a number, which is 0.1
		text, err := scenario.Write(s)
		require.NoError(t, err, "seed %d", seed)
		back, err := yaml.YAMLToJSONStrict(text)
		require.NoError(t, err, "seed %d:\n%s", seed, text)
		require.JSONEq(t, inJSON(t, s), string(back), "seed %d:\n%s", seed, text)
	}
}

func TestDefaultsAreValidAndSettled(t *testing.T) {
	for seed := range uint64(randomScenarios) {
		s := randomScenario(seed)
		d := s.Defaulted()
		requireSame(t, randomScenario(seed), s, "seed %d: the receiver has changed", seed)
		require.NoError(t, d.Validate(), "seed %d", seed)
		requireSame(t, d, d.Defaulted(), "seed %d", seed)
	}
}

// requireSame compares without printing thousands of lines about pointers.
func requireSame(t *testing.T, want, got *scenario.Scenario, format string, args ...any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		require.Equal(t, inJSON(t, want), inJSON(t, got), append([]any{format}, args...)...)
		t.Fatalf("the same in JSON, but not in Go: "+format, args...)
	}
}

func inJSON(t *testing.T, s *scenario.Scenario) string {
	t.Helper()
	text, err := json.MarshalIndent(s, "", " ")
	require.NoError(t, err)
	return string(text)
}

// Steps refer to the first zones and workloads, which every random scenario
// has.
type random struct{ *rand.Rand }

func randomScenario(seed uint64) *scenario.Scenario {
	r := random{rand.New(rand.NewPCG(seed, 1))}
	s := &scenario.Scenario{
		Name: pick(r, "x", "a storm", "5", "true", "Yes", "off", "n", "12:30", "-1:20.5", "1_000", "0o7", "null", "~",
			"- a", "a: b", "#x", "2001-01-01", "ünïcödé ✓", "'", `"`),
		Description: r.text(),
		Duration:    scenario.Duration(time.Hour + time.Duration(r.Int64N(int64(time.Hour)))),
		Seed:        pick(r, 0, 1, r.Uint64()),
	}
	r.cluster(&s.Cluster)
	s.Controller = scenario.Controller{Replicas: 2 + r.IntN(3), RestartAfter: r.time(), Flags: r.flags()}
	for range r.IntN(12) {
		s.Script = append(s.Script, r.step())
	}
	s.Expect = maybe(r, r.expect(s))
	return s
}

func (r random) count() *scenario.Count {
	low := r.IntN(10)
	return pick(r, nil, ptr.To(scenario.Exactly(low)), &scenario.Count{AtLeast: &low}, &scenario.Count{AtMost: &low},
		&scenario.Count{AtLeast: ptr.To(low), AtMost: ptr.To(low + r.IntN(3))})
}

func (r random) expect(s *scenario.Scenario) scenario.Expect {
	e := scenario.Expect{
		Declared: maybe(r, scenario.ExpectDeclared{Living: ptr.To(scenario.Exactly(0)), Dead: r.count()}),
		Tainted:  maybe(r, scenario.ExpectTainted{Nodes: r.count(), Times: ptr.To(scenario.Exactly(1))}),
		Evicted: maybe(r, scenario.ExpectEvicted{
			Pods: r.count(), Workloads: map[string]scenario.Count{"web": scenario.Exactly(0), "db": {AtMost: ptr.To(7)}},
		}),
		Suspended: maybe(r, r.IntN(2) == 0),
		Paused:    maybe(r, r.IntN(2) == 0),
		Calls:     &scenario.Count{AtMost: ptr.To(r.IntN(1000))},
	}
	for i := range s.Script {
		if s.Script[i].Silence != nil {
			e.Departures = append(e.Departures, scenario.ExpectDepartures{
				Step: i, Workload: pick(r, "", "web", "agent"), Pods: r.count(),
				Earliest: &scenario.Time{AtLeast: ptr.To(scenario.Duration(r.Int64N(1e10)))},
				Latest: pick(r, nil, &scenario.Time{AtMost: ptr.To(scenario.Duration(time.Minute))},
					ptr.To(scenario.Exactly(scenario.Duration(20*time.Second)))),
			})
		}
	}
	return e
}

func pick[T any](r random, of ...T) T { return of[r.IntN(len(of))] }

func maybe[T any](r random, value T) *T {
	if r.IntN(2) == 0 {
		return nil
	}
	return &value
}

// text is what a user or a program might write as a description.
func (r random) text() string {
	parts := []string{
		"", "a", " ", "  ", "\n", "\n\n", "\t", "word", ": ", "- ", "#", " #", "'", `"`, "\\", "|", ">", "%", "@", "`", "{",
		"}", "[", "]",
		"&a", "*a", "!x", "---", "...", "\r", "\r\n", "\x00", "\x07", "\x7f", "\u0085", "\u00a0", "\u2028", "\ufeff",
		"\ufffd", "ä", "日本", "🔥", "<&>",
	}
	text := ""
	for range r.IntN(8) {
		text += pick(r, parts...)
	}
	return text
}

func (r random) time() scenario.Duration {
	return scenario.Duration(pick(r, 0, 1, r.Int64N(1e9), r.Int64N(30*60)*1e9, r.Int64N(int64(30*time.Minute))))
}

func (r random) interval() scenario.Duration {
	return r.time() + scenario.Duration(100*time.Millisecond)
}

func (r random) span() scenario.Range {
	shortest := r.time()
	return scenario.Range{Min: shortest, Max: shortest + r.time()}
}

func (r random) share() float64 { return pick(r, 1, 0.5, 1e-9, 1-r.Float64()) }

func (r random) flags() map[string]scenario.FlagValue {
	flags := map[string]scenario.FlagValue{}
	for _, flag := range []struct {
		name   string
		values []scenario.FlagValue
	}{
		{"node-eviction-rate", []scenario.FlagValue{"0", "0.1", "0.10", "1e3", ".5", "1E-2", "0x1p-2"}},
		{"confirm", []scenario.FlagValue{"true", "false", "T", "0"}},
		{"node-monitor-grace-period", []scenario.FlagValue{"50s", "1h0m0s", "1.5s"}},
		{"action", []scenario.FlagValue{"delete", "evict-then-delete"}},
		{"kube-api-burst", []scenario.FlagValue{"30", "0x10", "0o17", "1_000"}},
	} {
		if r.IntN(2) == 0 {
			flags[flag.name] = pick(r, flag.values...)
		}
	}
	if len(flags) == 0 {
		return nil
	}
	return flags
}

func (r random) cluster(c *scenario.Cluster) {
	for i := range 2 + r.IntN(3) {
		c.Zones = append(c.Zones, scenario.Zone{Name: fmt.Sprintf("z%d", i), Nodes: 10 + r.IntN(20), Racks: pick(r, 0, 1, 4)})
	}
	c.Zones[0].Racks = 4
	c.Zones = append(c.Zones, r.grouped())
	c.Workloads = []scenario.Workload{
		{Name: "web", Kind: pick(r, "", scenario.Deployment), Replicas: 10 + r.IntN(90),
			TolerationSeconds: maybe(r, r.Int64N(400)), EveryTaint: r.IntN(2) == 0, MinAvailable: r.IntN(9)},
		{Name: "db", Kind: scenario.StatefulSet, Replicas: 1 + r.IntN(9), TolerateForever: r.IntN(2) == 0,
			Priority: pick(r, 0, -1, 1000)},
		{Name: "agent", Kind: scenario.DaemonSet},
		{Name: "train", Kind: pick(r, scenario.Bare, scenario.Deployment), Replicas: 9, Tolerations: r.tolerations(),
			Placed: pick(r, nil, map[string]int{"g-gpu": 9}, map[string]int{"g-gpu": 2, "g-0": 7}),
			Pools:  pick(r, nil, []string{"gpu", "main"})},
	}
	c.DaemonSets = pick(r, "", scenario.ByOwner, scenario.ByController)
	if r.IntN(2) == 0 {
		c.BeatInterval, c.StatusInterval = r.interval(), r.interval()
		c.APILatency, c.WatchDelay = r.span(), r.span()
	}
}

// grouped is a zone with groups, in which some fields are left out.
func (r random) grouped() scenario.Zone {
	z := scenario.Zone{Name: "g", Groups: []scenario.Group{
		{Name: "g-0", Nodes: 1 + r.IntN(5), Pool: "main", Rack: pick(r, "", "R_1.x", "5")},
		{Name: "g-gpu", Nodes: 1 + r.IntN(5), Pool: "gpu", Rack: "5", Cordoned: r.IntN(2) == 0,
			Taints: []scenario.NodeTaint{{Key: "example.com/gpu", Value: pick(r, "", "yes"), Effect: "NoSchedule"}}},
	}}
	z.Nodes = z.Groups[0].Nodes + z.Groups[1].Nodes
	return z
}

func (r random) tolerations() []scenario.Toleration {
	return pick(r, nil, []scenario.Toleration{{Operator: "Exists"}}, []scenario.Toleration{
		{Key: "example.com/gpu", Operator: pick(r, "", "Equal"), Value: pick(r, "", "true"), Effect: "NoSchedule"},
		{Key: "maintenance", Operator: "Exists", Effect: "NoExecute", Seconds: maybe(r, r.Int64N(99))},
	})
}

func (r random) nodes() scenario.Nodes {
	n := pick(r,
		scenario.Nodes{All: true},
		scenario.Nodes{Zone: "z1"},
		scenario.Nodes{Pool: "gpu"},
		scenario.Nodes{Rack: ptr.To(r.IntN(4))},
		scenario.Nodes{Zone: "z0", Rack: ptr.To(r.IntN(4))},
		scenario.Nodes{Names: []string{"z1-3", "z0-0"}},
		scenario.Nodes{Names: []string{"z0-5", "z0-9"}, Zone: "z0", Rack: ptr.To(1)},
	)
	switch r.IntN(3) {
	case 0:
		n.Share = r.share()
	case 1:
		n.Count = 1
	}
	return n
}

func (r random) pods() scenario.Pods {
	p := scenario.Pods{Workload: pick(r, "web", "agent")}
	switch r.IntN(3) {
	case 0:
		p.Share = r.share()
	case 1:
		p.Count = 1 + r.IntN(10)
	}
	return p
}

func (r random) watch() scenario.Watch {
	return scenario.Watch{
		Kinds:   pick(r, nil, []string{scenario.NodeObjects}, []string{scenario.PodObjects, scenario.LeaseObjects}),
		Replica: maybe(r, r.IntN(2)),
	}
}

func (r random) by() scenario.Duration {
	return pick(r, -1, 1, r.time()+1, -r.time()-1, scenario.Duration(-50*365*24*time.Hour))
}

func (r random) step() scenario.Step {
	s := scenario.Step{At: r.time()}
	process := scenario.Process{Replica: maybe(r, r.IntN(2))}
	endless := false
	switch r.IntN(25) {
	case 0:
		s.Silence = ptr.To(r.nodes())
	case 1:
		s.NotReady = ptr.To(r.nodes())
	case 2:
		s.For = r.time() + 1
		s.Flap = &scenario.Flap{Nodes: r.nodes(), Down: r.interval(), Up: r.interval()}
		return s
	case 10:
		s.For = r.time() + 1
		s.FlapReady = &scenario.FlapReady{Nodes: r.nodes(), NotReady: r.interval(), Ready: r.interval()}
		return s
	case 3:
		s.Pressure = ptr.To(r.nodes())
	case 4:
		s.Delete = ptr.To(r.nodes())
	case 5:
		s.Move = &scenario.Move{Nodes: r.nodes(), Zone: pick(r, "z3", "elsewhere", "5")}
	case 6:
		s.Cordon = ptr.To(r.nodes())
	case 7:
		s.Taint = &scenario.Taint{
			Nodes: r.nodes(), Key: pick(r, "maintenance", "example.com/x", "5", "true"), Value: pick(r, "", "yes", "0.1", "v"),
			Effect:    pick(r, "NoSchedule", "PreferNoSchedule", "NoExecute"),
			TimeAdded: pick(r, "", "now", "missing", "-1h", "0", "5m"),
		}
	case 8:
		endless = true
		s.Touch = ptr.To(r.nodes())
	case 9:
		s.NodeClocks = &scenario.NodeClocks{Nodes: r.nodes(), By: r.by()}
	case 11:
		s.For = r.time() + 1
		s.ClockDrift = &scenario.ClockDrift{Nodes: r.nodes(), By: pick(r, -1, 1, r.time()+1), Every: r.interval()}
		return s
	case 12:
		s.For = r.time() + 1
		s.Hostile = &scenario.Hostile{
			Nodes: r.nodes(), Every: r.interval(), Zones: pick(r, nil, []string{"x", "5"}),
			Taints: pick(r, "", scenario.TakeOffTaints, scenario.PutOnTaints),
			Leases: pick(r, scenario.FutureLeases, scenario.ZeroLeases, scenario.BackwardsLeases),
		}
		return s
	default:
		return r.stepOfOthers(s, process)
	}
	if r.IntN(2) == 0 {
		s.Over = r.time()
	}
	if !endless && r.IntN(2) == 0 {
		s.For, s.RecoverOver = s.Over+r.time()+1, r.time()
	}
	return s
}

func (r random) stepOfOthers(s scenario.Step, process scenario.Process) scenario.Step {
	if r.IntN(2) == 0 {
		s.For = r.time()
	}
	switch r.IntN(17) {
	case 16:
		s.ReadOnlyStore = &scenario.ReadOnlyStore{}
	case 13:
		s.For = r.time() + 1
		s.APIBlink = &scenario.APIBlink{For: pick(r, "", scenario.Kubelets), Down: r.interval(), Up: r.interval()}
	case 14:
		s.SlowLists = ptr.To(r.span())
	case 0:
		s.For = 0
		s.DeletePods = ptr.To(r.pods())
	case 1:
		s.For = 0
		s.Tolerate = &scenario.Tolerate{Pods: scenario.Pods{Workload: "web", Share: 0.5}, Seconds: r.Int64N(1000)}
	case 2:
		s.APIDown = &scenario.APIDown{For: pick(r, "", scenario.AllCallers, scenario.Controllers, scenario.Kubelets)}
	case 3:
		s.APIErrors = &scenario.APIErrors{Share: r.share(),
			Codes:    pick(r, nil, []int{403, 404, 409, 422}, []int{429, 500, 503, 504}),
			Verbs:    pick(r, nil, []string{"delete", "evict"}, []string{"get", "patch", "update"}),
			Kubelets: r.IntN(2) == 0}
	case 4:
		s.APILatency = ptr.To(r.span())
	case 5:
		s.LostAnswers = &scenario.LostAnswers{Share: r.share()}
	case 6:
		delay := r.span()
		delay.Max++
		s.StaleWatch = &scenario.StaleWatch{Watch: r.watch(), Delay: delay}
	case 7:
		s.BrokenWatch = ptr.To(r.watch())
	case 8:
		s.Crash = &process
	case 9:
		s.Pause = &process
	case 10:
		s.ControllerClock = &scenario.ControllerClock{Process: process, By: r.by()}
	case 11:
		s.SplitBrain = &scenario.SplitBrain{}
	case 12:
		s.Suspend = &process
	case 15:
		s.Halt = &scenario.Halt{}
	}
	return s
}
