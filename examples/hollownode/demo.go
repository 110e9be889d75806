package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// demoDefaults are the flags of the demonstration, unless they are given.
var demoDefaults = map[string]string{"nodes": "40", "zones": "4"}

// demo is the script on its way.
type demo struct {
	*simulation.World
	*demonstration.Play[*state]

	nodes []string // that register
	// silentZone is the last one, and silent are its nodes. The first node, which
	// breaks and reboots, is not among them.
	silentZone string
	silent     []string
	pods       int // created so far
}

// newDemo returns the demonstration, on an empty cluster of the simulation in
// which no process runs yet. Only the script makes something go wrong. The flags
// set s.
func newDemo(s *settings, flags *pflag.FlagSet, seed uint64) (*demo, error) {
	if err := demonstration.SetDefaults(flags, demoDefaults); err != nil {
		return nil, err
	}
	if s.nodes < s.zones || s.zones < 2 {
		return nil, fmt.Errorf("--nodes=%d --zones=%d: the demonstration wants two zones with a node each", s.nodes, s.zones)
	}
	registering := s.registering()
	d := &demo{
		World: simulation.NewWorld(simulation.WorldConfig{
			Seed:       seed,
			Fleet:      kubelet.FleetConfig{Capacity: s.capacity, ListPods: s.listPerNode, StaticPods: s.staticPods},
			PodNetwork: s.podCIDR, Register: registering, Workers: s.concurrentCalls,
		}),
		silentZone: fmt.Sprintf("zone-%d", s.zones),
	}
	for _, node := range registering {
		d.nodes = append(d.nodes, node.Name)
		if zoneOf(node) == d.silentZone {
			d.silent = append(d.silent, node.Name)
		}
	}
	d.Play = &demonstration.Play[*state]{
		Cluster: d.World, Look: d.look, Glance: 100 * time.Millisecond, Lines: d.lines,
		Steps: d.script(s.zones), Pause: time.Second,
		Summarize: d.summarize,
	}
	return d, nil
}

// state is what the API server shows.
type state struct {
	nodes   []*corev1.Node
	pods    []*corev1.Pod // of the script
	version uint64
}

// look reads the cluster.
func (d *demo) look() *state {
	pods := slices.DeleteFunc(d.Pods(), func(pod *corev1.Pod) bool { return pod.Namespace != simulation.Namespace })
	return &state{d.Nodes(), pods, d.Version()}
}

// lines tell about each zone that has nodes, by name.
func (d *demo) lines(tell demonstration.Tell) {
	zones := map[string]bool{}
	for _, node := range d.Seen.nodes {
		zones[zoneOf(node)] = true
	}
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		t := d.Seen.tally(zone)
		tell(zone, fmt.Sprintf("%s: %d of %d nodes ready, %d of %d pods ready, %d restarts",
			zone, t.readyNodes, t.nodes, t.readyPods, t.pods, t.restarts))
	}
}

// tally counts nodes and their pods.
type tally struct{ nodes, readyNodes, pods, readyPods, restarts int }

// tally counts what there is in a zone. Without a name it is all zones.
func (s *state) tally(zone string) (t tally) {
	counted := map[string]bool{}
	for _, node := range s.nodes {
		if zone != "" && zoneOf(node) != zone {
			continue
		}
		counted[node.Name] = true
		t.nodes++
		if demonstration.ReadyOf(node).Status == corev1.ConditionTrue {
			t.readyNodes++
		}
	}
	for _, pod := range s.pods {
		if !counted[pod.Spec.NodeName] {
			continue
		}
		t.pods++
		t.restarts += restarts(pod)
		if demonstration.IsReady(pod) {
			t.readyPods++
		}
	}
	return t
}

// node returns a node of the state, or an empty one.
func (s *state) node(name string) *corev1.Node {
	for _, node := range s.nodes {
		if node.Name == name {
			return node
		}
	}
	return &corev1.Node{}
}

func zoneOf(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] }

func restarts(pod *corev1.Pod) (n int) {
	for i := range pod.Status.ContainerStatuses {
		n += int(pod.Status.ContainerStatuses[i].RestartCount)
	}
	return n
}
