package nodehealth_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth"
)

// nodeClock is what the node's clock shows at the observer's epoch. It has no
// bearing on anything.
var nodeClock = time.Date(1984, time.April, 4, 13, 0, 0, 123456000, time.UTC)

func TestH1WhatIsABeatAndWhatIsNone(t *testing.T) {
	ready := func(node *corev1.Node) *corev1.NodeCondition { return &node.Status.Conditions[4] }
	someoneElse := "someone-else"
	for name, c := range map[string]struct {
		node  func(*corev1.Node)
		lease func(*coordinationv1.Lease)
		beat  bool
	}{
		"lease renewed": {
			lease: func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = nodeClock.Add(10 * time.Second) },
			beat:  true,
		},
		"lease renewed by microsecond": {
			lease: func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = nodeClock.Add(time.Microsecond) },
			beat:  true,
		},
		// In upstream only a later renewTime counts, so a node whose clock was set
		// back seems dead.
		"lease renewed, clock set back": {
			lease: func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = nodeClock.Add(-time.Hour) },
			beat:  true,
		},
		"lease renewed, clock lost": {
			lease: func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = time.Time{} }, beat: true,
		},
		"lease renewed, clock in 9999": {
			lease: func(l *coordinationv1.Lease) {
				l.Spec.RenewTime.Time = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
			},
			beat: true,
		},
		"lease without a renewal": {
			lease: func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil }, beat: true,
		},
		"lease taken over": {
			lease: func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = &someoneElse }, beat: true,
		},
		"lease given up": {
			lease: func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }, beat: true,
		},
		"lease as before": {lease: func(*coordinationv1.Lease) {}},
		"lease at the same instant": {
			lease: func(l *coordinationv1.Lease) {
				l.Spec.RenewTime.Time = nodeClock.In(time.FixedZone("", 3600))
			},
		},
		"lease labelled": {
			lease: func(l *coordinationv1.Lease) {
				l.Labels, l.ResourceVersion = map[string]string{"a": "b"}, "9"
			},
		},
		"lease with another duration": {
			lease: func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32) },
		},
		"heartbeat": {
			node: func(n *corev1.Node) { ready(n).LastHeartbeatTime.Time = nodeClock.Add(10 * time.Second) },
			beat: true,
		},
		"heartbeat, clock set back": {
			node: func(n *corev1.Node) { ready(n).LastHeartbeatTime.Time = nodeClock.Add(-time.Hour) },
			beat: true,
		},
		"heartbeat, clock lost": {
			node: func(n *corev1.Node) { ready(n).LastHeartbeatTime.Time = time.Time{} }, beat: true,
		},
		"heartbeat, no longer ready": {node: func(n *corev1.Node) {
			ready(n).Status, ready(n).LastHeartbeatTime.Time = corev1.ConditionFalse, nodeClock.Add(1e9)
		}, beat: true},
		"heartbeat, unknown to itself": {node: func(n *corev1.Node) {
			ready(n).Status, ready(n).LastHeartbeatTime.Time = corev1.ConditionUnknown, nodeClock.Add(1e9)
		}, beat: true},
		"node as before": {node: func(*corev1.Node) {}},
		"node labelled": {
			node: func(n *corev1.Node) { n.Labels, n.ResourceVersion = map[string]string{"a": "b"}, "9" },
		},
		"node tainted": {
			node: func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute}}
			},
		},
		"heartbeat at the same instant": {
			node: func(n *corev1.Node) {
				ready(n).LastHeartbeatTime.Time = nodeClock.In(time.FixedZone("", 3600))
			},
		},
		"heartbeat of another condition": {
			node: func(n *corev1.Node) {
				n.Status.Conditions[1].LastHeartbeatTime.Time = nodeClock.Add(10 * time.Second)
			},
		},
		"conditions in another order": {
			node: func(n *corev1.Node) { slices.Reverse(n.Status.Conditions) },
		},
		"conditions lost": {node: func(n *corev1.Node) { n.Status.Conditions = nil }},
		"our own Unknown": {node: func(n *corev1.Node) {
			ready(n).Status, ready(n).Reason = corev1.ConditionUnknown, nodehealth.ReasonStopped
			ready(n).LastTransitionTime = metav1.NewTime(observerEpoch)
		}},
		"an Unknown of an observer that saw more than we": {node: func(n *corev1.Node) {
			ready(n).Status, ready(n).Reason = corev1.ConditionUnknown, nodehealth.ReasonStopped
			ready(n).LastHeartbeatTime.Time = nodeClock.Add(1e9)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := nodehealth.NewNodeMonitor(nodehealth.Config{}, observerEpoch)
			require.NoError(t, err)
			o := &observer{m, observerEpoch}
			node, lease := reportingNode("a", "1", nodeClock), renewedLease("a", nodeClock)
			o.sees(node)
			o.seesLease(lease)
			o.MarkSynced()
			o.pass(10 * time.Second)
			before := o.lastBeat(t, "a")
			if c.node != nil {
				node = node.DeepCopy()
				c.node(node)
				o.sees(node)
			} else {
				lease = lease.DeepCopy()
				c.lease(lease)
				o.seesLease(lease)
			}
			want := before
			if c.beat {
				want = o.now
			}
			require.Equal(t, want, o.lastBeat(t, "a"))
			require.Equal(t, c.beat, o.HasHeartbeat("a"))
			o.silentExactly(t, want.Add(monitorGrace), "a")
		})
	}
}

// What the observer writes of a node that has never reported carries a
// heartbeat time: the node's creation.
func TestH1OurOwnUnknownOfANodeThatNeverReportedIsNoBeat(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	node := bareNode("a", "1")
	node.CreationTimestamp = metav1.NewTime(nodeClock.Truncate(time.Second))
	o.sees(node)
	silent := o.silentExactly(t, observerEpoch.Add(startupGrace), "a")

	document := encode(t, node)
	patch, ok, err := nodehealth.UnknownPatch(node, o.now)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, document.patch(patch))
	written := decodeNode(t, document)
	require.Equal(t, nodehealth.ReasonNeverReported, written.Status.Conditions[0].Reason)

	o.sees(written) // before we are done
	o.finish(silent, resultDone)
	o.pass(time.Second)
	o.sees(written) // and after
	require.Equal(t, observerEpoch, o.lastBeat(t, "a"))
	_, ok = o.Next(o.now)
	require.False(t, ok, "it is waited for")

	// The node's first report is a beat, even if its clock shows the very same
	// time.
	report := reportingNode("a", "1", node.CreationTimestamp.Time)
	o.sees(report)
	require.Equal(t, o.now, o.lastBeat(t, "a"))
	require.Equal(t, monitorGrace, o.silentExactly(t, o.now.Add(monitorGrace), "a").GracePeriod)
}

// The first report of a node is a beat by being there, whatever time it
// carries.
func TestH1AFirstReportIsABeatWhateverItsTime(t *testing.T) {
	for name, node := range map[string]*corev1.Node{
		"bare":           bareNode("a", "1"),
		"never reported": unknownNode("a", "1", nodehealth.ReasonNeverReported, nodeClock),
	} {
		t.Run(name, func(t *testing.T) {
			o := newObserver(t, nodehealth.Config{})
			o.sees(node)
			o.pass(time.Second)
			report := reportingNode("a", "1", nodeClock)
			if name == "bare" {
				report.Status.Conditions[4].LastHeartbeatTime = metav1.Time{}
			}
			o.sees(report)
			require.Equal(t, o.now, o.lastBeat(t, "a"))
			require.Equal(t, monitorGrace, o.silentExactly(t, o.now.Add(monitorGrace), "a").GracePeriod)
		})
	}
}

// The demand report, clock: only the observer's time counts. Clocks of nodes
// jump, stand still in years long gone, and run backwards.
func TestH1ClocksOfNodesDoNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	o := newObserver(t, nodehealth.Config{})
	clocks := map[string]func(i int) time.Time{
		"past":     func(i int) time.Time { return time.Unix(int64(i), 0) },
		"future":   func(i int) time.Time { return time.Date(9000, 1, 1, 0, 0, i, 0, time.UTC) },
		"backward": func(i int) time.Time { return nodeClock.Add(-time.Duration(i) * time.Minute) },
		"jumping":  func(int) time.Time { return time.Unix(random.Int64N(1<<40), 0) },
	}
	for name, clock := range clocks {
		o.sees(reportingNode(name, name, clock(0)))
		o.seesLease(renewedLease(name, clock(0)))
	}
	for i := range 200 {
		o.pass(10 * time.Second)
		for name, clock := range clocks {
			if i%2 == 0 {
				o.seesLease(renewedLease(name, clock(i+1)))
			} else {
				o.sees(reportingNode(name, name, clock(i+1)))
			}
			require.Equal(t, o.now, o.lastBeat(t, name))
		}
		o.quiet(t)
	}
	for name := range clocks {
		o.ForgetNode(o.now, name)
	}
	// And a node that says it has renewed in the year 9000 is silent when it is.
	o.sees(reportingNode("dead", "1", clocks["future"](9)))
	o.seesLease(renewedLease("dead", clocks["future"](9)))
	o.silentExactly(t, o.now.Add(monitorGrace), "dead")
}

// Before the first lists are in, a lease may be of any age.
func TestH1ALeaseThatWasThereBeforeUsIsNoBeat(t *testing.T) {
	m, err := nodehealth.NewNodeMonitor(nodehealth.Config{}, observerEpoch)
	require.NoError(t, err)
	o := &observer{m, observerEpoch}
	o.sees(unknownNode("dead", "1", nodehealth.ReasonStopped, nodeClock))
	o.sees(reportingNode("well", "2", nodeClock))
	o.pass(time.Second)
	o.seesLease(renewedLease("dead", nodeClock))
	o.seesLease(renewedLease("well", nodeClock))
	listed := o.now
	require.False(t, o.HasHeartbeat("dead"))
	require.False(t, o.HasHeartbeat("well"))

	o.pass(time.Second)
	o.seesLease(renewedLease("well", nodeClock.Add(time.Second)))
	require.Equal(
		t, o.now, o.lastBeat(t, "well"), "a second observation can be one, also before MarkSynced",
	)

	o.MarkSynced()
	o.seesLease(renewedLease("dead", nodeClock))
	require.Equal(t, listed, o.lastBeat(t, "dead"), "the same lease is none, also after MarkSynced")
	require.False(t, o.HasHeartbeat("dead"))
	o.silentExactly(t, o.now.Add(monitorGrace), "well")
	o.quiet(t, "The other was declared before us.")
}

// Found by the simulation (seed 102 of examples/outage/explore, 2026-11-21).
// The list of leases came half a minute after that of nodes. A node that had
// beaten in between and then died was declared before its grace period had
// ended.
func TestH1GracePeriodBeginsNotBeforeTheLeaseIsListed(t *testing.T) {
	m, err := nodehealth.NewNodeMonitor(nodehealth.Config{}, observerEpoch)
	require.NoError(t, err)
	o := &observer{m, observerEpoch}
	o.sees(reportingNode("a", "1", nodeClock))
	o.pass(30 * time.Second)
	o.seesLease(renewedLease("a", nodeClock.Add(29*time.Second)))
	o.MarkSynced()
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

func TestH1ALeaseThatAppearsAfterTheFirstListsIsABeat(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(unknownNode("a", "1", nodehealth.ReasonStopped, nodeClock))
	o.pass(time.Second)
	o.seesLease(renewedLease("a", nodeClock))
	require.Equal(t, o.now, o.lastBeat(t, "a"))
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

func TestH1ADeletedLeaseIsNoBeatAndItsReturnIsOne(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(reportingNode("a", "1", nodeClock))
	o.seesLease(renewedLease("a", nodeClock))
	before := o.lastBeat(t, "a")
	o.pass(time.Second)
	o.ForgetLease(o.now, "a")
	require.Equal(t, before, o.lastBeat(t, "a"))
	o.pass(time.Second)
	o.seesLease(renewedLease("a", nodeClock))
	require.Equal(t, o.now, o.lastBeat(t, "a"), "the client that created it again is alive")
}

// At our start nothing is known of the time before: a node that was declared
// stays so, and is not declared again, until it beats.
func TestH1ANodeFoundUnknownStaysSoUntilItBeats(t *testing.T) {
	beats := map[string]func(o *observer){
		"lease":  func(o *observer) { o.seesLease(renewedLease("a", nodeClock.Add(time.Second))) },
		"report": func(o *observer) { o.sees(reportingNode("a", "1", nodeClock.Add(time.Second))) },
	}
	for _, reason := range []string{nodehealth.ReasonStopped, nodehealth.ReasonNeverReported} {
		for name, beat := range beats {
			t.Run(reason+" "+name, func(t *testing.T) {
				o := newObserver(t, nodehealth.Config{})
				o.seesLease(renewedLease("a", nodeClock))
				node := unknownNode("a", "1", reason, nodeClock)
				o.sees(node)
				for range 10 {
					o.pass(time.Hour)
					o.sees(node)
					o.seesLease(renewedLease("a", nodeClock))
					o.quiet(t)
				}
				_, ok := o.Next(o.now)
				require.False(t, ok)
				require.Equal(t, observerEpoch, o.lastBeat(t, "a"))

				beat(o)
				require.Equal(t, o.now, o.lastBeat(t, "a"))
				grace := monitorGrace
				if name == "lease" && reason == nodehealth.ReasonNeverReported {
					grace = startupGrace // it has still not reported
				}
				require.Equal(t, grace, o.silentExactly(t, o.now.Add(grace), "a").GracePeriod)
			})
		}
	}
}

// Until then its conditions were written before our time, and are no reason to
// untaint it.
func TestH1ANodeIsHeardOnceItHasBeatenSinceWeSawIt(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	require.False(t, o.HasHeartbeat("a"))
	o.seesLease(renewedLease("a", nodeClock))
	require.False(t, o.HasHeartbeat("a"), "no node yet")
	o.sees(reportingNode("a", "1", nodeClock))
	require.False(t, o.HasHeartbeat("a"))
	o.seesLease(renewedLease("a", nodeClock.Add(1000)))
	require.True(t, o.HasHeartbeat("a"))
	o.finish(o.silentExactly(t, o.now.Add(monitorGrace), "a"), resultDone)
	require.True(t, o.HasHeartbeat("a"), "it is silent now, but we know")

	o.sees(reportingNode("a", "2", nodeClock))
	require.False(t, o.HasHeartbeat("a"), "another node")
	o.finish(o.silentExactly(t, o.now.Add(monitorGrace), "a"), resultAlive)
	require.True(t, o.HasHeartbeat("a"), "heard by a live read")
	o.ForgetNode(o.now, "a")
	require.False(t, o.HasHeartbeat("a"))
	o.sees(reportingNode("a", "2", nodeClock))
	require.False(t, o.HasHeartbeat("a"), "seen for the first time, again")
}
