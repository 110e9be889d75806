package nodehealth_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
)

const manyNodes = 100_000

// cluster is nodes that report and their leases, in versions that differ by a
// beat.
type cluster struct {
	nodes  []*corev1.Node
	leases [2][]*coordinationv1.Lease
}

func newCluster(n int) *cluster {
	c := &cluster{}
	conditions := reportingNode("", "", nodeClock).Status.Conditions
	for i := range n {
		name := fmt.Sprintf("node-%06d", i)
		node := bareNode(name, "uid-of-"+name)
		node.Status.Conditions = conditions // shared, to save memory
		c.nodes = append(c.nodes, node)
		for version := range c.leases {
			written := nodeClock.Add(time.Duration(version) * 10 * time.Second)
			c.leases[version] = append(c.leases[version], renewedLease(strings.Clone(name), written))
		}
	}
	return c
}

// watched returns a monitor that has seen all of it.
func (c *cluster) watched(b *testing.B) *nodehealth.NodeMonitor {
	b.Helper()
	monitor, err := nodehealth.NewNodeMonitor(nodehealth.Config{}, observerEpoch)
	require.NoError(b, err)
	for i, node := range c.nodes {
		monitor.ObserveNode(observerEpoch, node)
		monitor.ObserveLease(observerEpoch, c.leases[0][i])
	}
	monitor.MarkSynced()
	return monitor
}

// visits are indices of nodes in a random order, each as often as the others.
func visits(n int) []int32 {
	random := rand.New(rand.NewPCG(1, 1))
	order := make([]int32, 0, 4*n)
	for range 4 {
		for _, i := range random.Perm(n) {
			order = append(order, int32(i))
		}
	}
	return order
}

// One beat of a node chosen at random. At 100,000 nodes there are 10,000 a
// second. There is one lease for all, renewed and renamed for each beat. An
// informer, too, hands out objects that are in the processor's cache.
func BenchmarkObserve(b *testing.B) {
	b.Run(fmt.Sprintf("nodes=%d", manyNodes), func(b *testing.B) {
		c := newCluster(manyNodes)
		monitor := c.watched(b)
		var names []string
		for _, i := range visits(manyNodes) {
			names = append(names, c.leases[1][i].Name)
		}
		lease := renewedLease("", nodeClock)
		now, i := observerEpoch, -1
		b.ReportAllocs()
		for b.Loop() {
			if i++; i == len(names) {
				i = 0
			}
			now = now.Add(100 * time.Microsecond)
			lease.Name, lease.Spec.HolderIdentity, lease.Spec.RenewTime.Time = names[i], &names[i], now
			monitor.ObserveLease(now, lease)
		}
		if at, _ := monitor.LastHeartbeat(names[i]); !at.Equal(now) {
			b.Fatal("these were no beats")
		}
	})
}

// The same for reports of status.
func BenchmarkObserveNode(b *testing.B) {
	b.Run(fmt.Sprintf("nodes=%d", manyNodes), func(b *testing.B) {
		c := newCluster(manyNodes)
		monitor := c.watched(b)
		type identity struct {
			name string
			uid  types.UID
		}
		var nodes []identity
		for _, i := range visits(manyNodes) {
			name := strings.Clone(c.nodes[i].Name)
			nodes = append(nodes, identity{name, types.UID("uid-of-" + name)})
		}
		node := reportingNode("", "", nodeClock)
		ready := &node.Status.Conditions[4]
		now, i := observerEpoch, -1
		b.ReportAllocs()
		for b.Loop() {
			if i++; i == len(nodes) {
				i = 0
			}
			now = now.Add(100 * time.Microsecond)
			node.Name, node.UID, ready.LastHeartbeatTime.Time = nodes[i].name, nodes[i].uid, now
			monitor.ObserveNode(now, node)
		}
		if at, _ := monitor.LastHeartbeat(nodes[i].name); !at.Equal(now) {
			b.Fatal("these were no beats")
		}
	})
}

// What the lazy heap costs a cluster in which no node is silent: each node's
// expiry comes once and is scheduled again. A node beats every 40 s, and is
// visited 10 s after its beat, a grace period after the one before. Beats are
// not timed.
func BenchmarkExpiry(b *testing.B) {
	for _, spread := range []time.Duration{10 * time.Second, 0} {
		b.Run(fmt.Sprintf("nodes=%d/spread=%v", manyNodes, spread), func(b *testing.B) {
			c := newCluster(manyNodes)
			monitor := c.watched(b)
			now, version := observerEpoch, 0
			polls := 0
			for b.Loop() {
				b.StopTimer()
				version = 1 - version
				first := now.Add(time.Second)
				for i, lease := range c.leases[version] {
					monitor.ObserveLease(first.Add(spread*time.Duration(i)/manyNodes), lease)
				}
				last := first.Add(spread)
				end := now.Add(40 * time.Second)
				b.StartTimer()
				for {
					next, ok := monitor.Next(last)
					if !ok || next.After(end) {
						break
					}
					if silent, ok := monitor.Start(next); ok {
						b.Fatalf("%s is silent", silent.Key)
					}
					polls++
				}
				now = end
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/manyNodes, "ns/node")
			b.ReportMetric(float64(polls)/float64(b.N), "polls")
		})
	}
}

// What the monitor holds of a node and its lease.
func BenchmarkMemory(b *testing.B) {
	c := newCluster(manyNodes)
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		monitor := c.watched(b)
		b.ReportMetric(float64(heap()-before)/manyNodes, "B/node")
		runtime.KeepAlive(monitor)
	}
}

func BenchmarkUnknownPatch(b *testing.B) {
	node := reportingNode("a", "1", nodeClock)
	node.CreationTimestamp = metav1.NewTime(nodeClock)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := nodehealth.UnknownPatch(node, observerEpoch); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
