package scenario

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"
)

// matches asks of one node what matching counts without looking at any.
func matches(n *Nodes, z *Zone, i int) bool {
	name := fmt.Sprintf("%s-%d", z.Name, i)
	racks := z.Racks
	if racks == 0 {
		racks = 1
	}
	rack, pool := i%racks, ""
	if len(z.Groups) > 0 {
		rack, pool = groupedBySteps(z, i)
	}
	return (n.Zone == "" || n.Zone == z.Name) && (n.Rack == nil || *n.Rack == rack) &&
		(n.Pool == "" || n.Pool == pool) && (len(n.Names) == 0 || slices.Contains(n.Names, name))
}

// groupedBySteps goes through the nodes of a zone one by one, and numbers racks
// as it meets them.
func groupedBySteps(z *Zone, node int) (rack int, pool string) {
	numbers, at := map[string]int{}, 0
	for _, g := range z.Groups {
		if _, known := numbers[g.Rack]; !known {
			numbers[g.Rack] = len(numbers)
		}
		for range g.Nodes {
			if at == node {
				return numbers[g.Rack], g.Pool
			}
			at++
		}
	}
	panic("the groups have too few nodes")
}

// randomGroups divides the nodes of a zone.
func randomGroups(r *rand.Rand, z *Zone) {
	for left := z.Nodes; left > 0; {
		some := 1 + r.IntN(left)
		z.Groups = append(z.Groups, Group{
			Nodes: some, Pool: []string{"", "p", "q"}[r.IntN(3)], Rack: []string{"", "x", "y"}[r.IntN(3)],
		})
		left -= some
	}
}

func TestNodesAreCountedAsIfEachWereLookedAt(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := Cluster{Zones: []Zone{{Name: "a", Nodes: 1 + r.IntN(9)}, {Name: "a-1", Nodes: 1 + r.IntN(9)},
			{Name: "b", Nodes: 1 + r.IntN(9)}}}
		for i := range c.Zones {
			if r.IntN(2) == 0 {
				randomGroups(r, &c.Zones[i])
				continue
			}
			c.Zones[i].Racks = r.IntN(c.Zones[i].Nodes + 1)
		}
		n := Nodes{Zone: []string{"", "a", "a-1", "b"}[r.IntN(4)], Pool: []string{"", "", "p", "q"}[r.IntN(4)]}
		if r.IntN(2) == 0 {
			n.Rack = ptr.To(r.IntN(5))
		}
		for range r.IntN(4) {
			z := &c.Zones[r.IntN(3)]
			if name := z.nodeName(r.IntN(z.Nodes)); !slices.Contains(n.Names, name) {
				n.Names = append(n.Names, name)
			}
		}
		want := 0
		for z := range c.Zones {
			for i := range c.Zones[z].Nodes {
				if matches(&n, &c.Zones[z], i) {
					want++
				}
			}
		}
		require.Equal(t, want, c.Matching(&n), "seed %d: %+v of %+v", seed, n, c)
	}
}

// everyType lists the structs of the language.
func everyType(t reflect.Type, found map[reflect.Type]bool) map[reflect.Type]bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		everyType(t.Elem(), found)
	case reflect.Struct:
		if !found[t] {
			found[t] = true
			for _, f := range fields(t) {
				everyType(f.Type, found)
			}
		}
	}
	return found
}

func TestTagsSayWhatTheLanguageKnows(t *testing.T) {
	types := everyType(reflect.TypeFor[Scenario](), map[reflect.Type]bool{})
	require.Greater(t, len(types), 30)
	kinds := []string{"", "name", "text", "key", "label", "value of a label", "value of a taint", "taintKey", "timeAdded",
		"share", "time", "interval", "clock", "budget", "priority", "replica", "effect", "caller", "object", "verb", "code"}
	defined := map[string]bool{"": true}
	for typ := range types {
		for _, f := range fields(typ) {
			name := typ.Name() + "." + f.name
			require.Contains(t, kinds, f.Tag.Get("is"), name)
			require.Contains(t, []string{"", "zone", "pool", "group", "workload"}, f.tag("names"), name)
			require.Equal(t, f.Tag.Get("is") == "key", f.tag("defines") != "" && !f.optional, name)
			defined[f.tag("defines")] = true
			if f.tag("default") != "" || f.zeroMeans() != "" {
				require.True(t, f.optional, "%s is written even if it is zero", name)
			}
			scalar := f.Type
			for scalar.Kind() == reflect.Pointer || scalar.Kind() == reflect.Map {
				scalar = scalar.Elem()
			}
			for _, tag := range []string{f.tag("min"), f.tag("max")} {
				if limit, _, _ := strings.Cut(tag, ","); limit != "" {
					require.NoError(t, setScalar(reflect.New(scalar).Elem(), limit), name)
				}
			}
		}
		whole := reflect.New(typ)
		walk("", &field{}, whole.Elem(), fill, nothing)
		for _, f := range fields(typ) {
			if f.Tag.Get("default") != "" {
				require.False(t, whole.Elem().FieldByIndex(f.Index).IsZero(), "%v.%s", typ, f.name)
			}
		}
	}
	require.Equal(t, map[string]bool{"": true, "zone": true, "pool": true, "group": true, "workload": true}, defined)
}

func TestTheStepOfAClockHasTheLimitOfItsDrift(t *testing.T) {
	require.Equal(t, maxClockStep.String(), strings.TrimPrefix(kinds["clock"].tags.Get("min"), "-"))
	require.Equal(t, maxClockStep.String()+", forwards or back", kinds["clock"].tags.Get("max"))
}

func TestDefaultsAreThoseThatAreNamed(t *testing.T) {
	d := (&Scenario{
		Cluster: Cluster{Zones: []Zone{{}}, Workloads: []Workload{{}, {Kind: DaemonSet}, {TolerateForever: true}}},
		Script: []Step{
			{Taint: &Taint{}}, {APIDown: &APIDown{}}, {APIErrors: &APIErrors{}}, {StaleWatch: &StaleWatch{}},
			{BrokenWatch: &Watch{}},
		},
	}).Defaulted()
	require.Equal(t, "10s", d.Cluster.BeatInterval.String())
	require.Equal(t, "5m", d.Cluster.StatusInterval.String())
	require.Equal(t, "{2ms 20ms}", fmt.Sprint(d.Cluster.APILatency))
	require.Equal(t, "{1ms 50ms}", fmt.Sprint(d.Cluster.WatchDelay))
	require.Equal(t, 1, d.Cluster.Zones[0].Racks)
	require.Equal(t, Workload{Kind: Deployment, TolerationSeconds: ptr.To(int64(300))}, d.Cluster.Workloads[0])
	require.Equal(t, Workload{Kind: DaemonSet}, d.Cluster.Workloads[1])
	require.Equal(t, Workload{Kind: Deployment, TolerateForever: true}, d.Cluster.Workloads[2])
	require.Equal(t, 1, d.Controller.Replicas)
	require.Equal(t, "5s", d.Controller.RestartAfter.String())
	require.Equal(t, "now", d.Script[0].Taint.TimeAdded)
	require.Equal(t, "all", d.Script[1].APIDown.For)
	require.Equal(t, []int{409, 429, 500, 503}, d.Script[2].APIErrors.Codes)
	require.Equal(t, []string{"get", "patch", "delete", "evict", "update"}, d.Script[2].APIErrors.Verbs)
	require.Equal(t, []string{"nodes", "leases", "pods"}, d.Script[3].StaleWatch.Kinds)
	require.Equal(t, []string{"nodes", "leases", "pods"}, d.Script[4].BrokenWatch.Kinds)
}

func TestCopiesShareNothing(t *testing.T) {
	s := &Scenario{
		Cluster:    Cluster{Zones: []Zone{{Name: "a"}}, Workloads: []Workload{{TolerationSeconds: ptr.To(int64(1))}}},
		Controller: Controller{Flags: map[string]FlagValue{"x": "1"}},
		Script: []Step{{Silence: &Nodes{Names: []string{"a"}, Rack: ptr.To(1)}},
			{BrokenWatch: &Watch{Kinds: []string{"a"}}}},
		Expect: &Expect{Evicted: &ExpectEvicted{Workloads: map[string]Count{"a": Exactly(1)}}},
	}
	c := s.Clone()
	require.Equal(t, s, c)
	c.Cluster.Zones[0].Name = "b"
	*c.Cluster.Workloads[0].TolerationSeconds = 2
	c.Controller.Flags["x"] = "2"
	c.Script[0].Silence.Names[0] = "b"
	*c.Script[0].Silence.Rack = 2
	c.Script[1].BrokenWatch.Kinds[0] = "b"
	*c.Expect.Evicted.Workloads["a"].AtLeast = 2
	require.Equal(t, &Scenario{
		Cluster:    Cluster{Zones: []Zone{{Name: "a"}}, Workloads: []Workload{{TolerationSeconds: ptr.To(int64(1))}}},
		Controller: Controller{Flags: map[string]FlagValue{"x": "1"}},
		Script: []Step{{Silence: &Nodes{Names: []string{"a"}, Rack: ptr.To(1)}},
			{BrokenWatch: &Watch{Kinds: []string{"a"}}}},
		Expect: &Expect{Evicted: &ExpectEvicted{Workloads: map[string]Count{"a": Exactly(1)}}},
	}, s)
}

func TestNearMissesAreLikelyMistakes(t *testing.T) {
	names := []string{"node-eviction-rate", "secondary-node-eviction-rate", "node-monitor-period", "silence", "splitBrain",
		"zone", "a", "b"}
	for _, c := range []struct{ name, want string }{
		{"node-evicton-rate", "node-eviction-rate"},
		{"node_eviction_rate", "node-eviction-rate"},
		{"nodeEvictionRate", "node-eviction-rate"},
		{"monitor-period", "node-monitor-period"},
		{"secondary", "secondary-node-eviction-rate"},
		{"eviction-rate", ""}, // two flags end so
		{"SILENCE", "silence"},
		{"silense", "silence"},
		{"slience", "silence"},
		{"splitbrain", "splitBrain"},
		{"zoen", "zone"},
		{"zones", "zone"},
		{"c", ""}, // every single letter is as near
		{"A", "a"},
		{"", ""},
		{"explode", ""},
	} {
		require.Equal(t, c.want, nearest(c.name, names), c.name)
	}
}

// The example in the package's comment has to be one.
func TestTheScenarioInTheDocumentationIsValid(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var example strings.Builder
	for line := range strings.Lines(string(source)) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(text)
		}
	}
	s, err := Read("doc.go", []byte(example.String()))
	require.NoError(t, err)
	require.Equal(t, "half-a-zone", s.Name)
	require.Len(t, s.Script, 2)
}
