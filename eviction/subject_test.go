package eviction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
)

// workload is a subject on a cluster. It has a UID of its own in each.
func workload(name, cluster string, tolerations ...string) eviction.Subject {
	return eviction.Subject{
		Key:         eviction.Key{Namespace: "ns", Name: name, UID: types.UID(name + "/" + cluster)},
		On:          cluster,
		Tolerations: tolerationList(tolerations...),
	}
}

// E11: what is no pod leaves as a pod does, without a pod that is made up for
// it. One that is in two places leaves the one that is tainted.
func TestE11SubjectsLeaveTheirPlaces(t *testing.T) {
	c := running(t)
	c.ObserveTaints(at(0), "east", "east-uid", nil)
	c.ObserveTaints(at(0), "west", "west-uid", nil)
	for _, cluster := range []string{"east", "west"} {
		c.Observe(at(0), workload("web", cluster, "NR:60"))
		c.Observe(at(0), workload("db", cluster))
	}
	old := workload("old", "east", "NR:60")
	old.Since = stamp(-100)
	c.Observe(at(0), old)
	exempt := workload("exempt", "east")
	exempt.Exempt = true
	c.Observe(at(0), exempt)
	c.ObserveTaints(at(10), "east", "east-uid", taintList("NR@10"))
	task := c.start(11, "db")[0]
	require.Equal(t, eviction.Key{Namespace: "ns", Name: "db", UID: "db/east"}, task.Pod)
	require.Equal(t, "east", task.Node)
	c.Finish(at(11), task, eviction.Result{Outcome: eviction.OutcomeEvicted})
	leaving := workload("db", "east")
	leaving.Leaving = true
	c.Observe(at(12), leaving)
	c.stays("db/east", eviction.ReasonGone)
	c.stays("db/west", eviction.ReasonNoTaints)
	c.stays("exempt/east", eviction.ReasonExempt)
	c.start(70, "web", "old")

	moved := workload("db", "east")
	moved.On = ""
	c.Observe(at(71), moved) // it is in no place any more
	_, known := c.Decision("db/east")
	require.False(t, known)
	c.ObserveTaints(at(72), "east", "another", nil)
	require.True(t, c.work("web").Canceled(), "another cluster has the name")
}

// E11: its time in a place counts from when it came, as a pod's does.
func TestE11SubjectThatComesLateGetsItsTime(t *testing.T) {
	c := startUp(t, 100)
	c.ObserveTaints(at(100), "east", "east-uid", taintList("NR@10"))
	late := workload("late", "east", "NR:60")
	late.Since = stamp(80)
	c.Observe(at(100), late)
	c.Observe(at(100), workload("first seen now", "east", "NR:60"))
	c.MarkSynced()
	c.leavesAt("late/east", 141)
	c.leavesAt("first seen now/east", 160)
}

// E11: subjects are budgeted by what the caller says of them, and by place.
func TestE11SubjectsHaveShares(t *testing.T) {
	c := runningWith(t, budgets(
		eviction.Budget{Name: "team", BySubject: true, Limit: 0.1},
		eviction.Budget{Name: "place", ByNode: (*corev1.Node).GetName, Limit: rate.Inf, MaxPods: 2},
	))
	c.ObserveTaints(at(0), "east", "east-uid", nil)
	for i, team := range []string{"red", "red", "blue", "green"} {
		s := workload(fmt.Sprint(team, i), "east")
		s.Shares = map[string]string{"team": team, "unknown": "x"}
		s.Priority = int32(i)
		c.Observe(at(0), s)
	}
	c.ObserveTaints(at(10), "east", "east-uid", taintList("x@10"))
	tasks := c.start(11, "red0", "blue2")
	c.Finish(at(11), tasks[1], eviction.Result{Outcome: eviction.OutcomeEvicted})
	c.start(12)
	leaving := workload("blue2", "east")
	leaving.Leaving = true
	c.Observe(at(13), leaving)
	c.start(72)
	c.start(73, "red1") // blue2 has had its minute
	c.finish(74, c.work("red0"), eviction.OutcomeNotDue)
	c.start(74, "green3")
}

func TestE11SubjectsOfAPlaceStayWhenItIsEmptied(t *testing.T) {
	c := running(t)
	c.ObserveTaints(at(0), "east", "east-uid", nil)
	agent := workload("agent", "east")
	agent.OfPlace = true
	c.Observe(at(0), agent)
	c.Observe(at(0), workload("web", "east"))
	c.EvictNode(at(1), "east", eviction.NodeRequest{})
	c.start(1, "web")
}

// E11: which taints count as one is the caller's. A cluster that flaps between
// two kinds of illness keeps the deadlines of its workloads.
func TestE11LineageIsTheCallers(t *testing.T) {
	ofClusters := func(a, b *corev1.Taint) bool {
		return a.MatchTaint(b) ||
			strings.HasPrefix(a.Key, "cluster/") && strings.HasPrefix(b.Key, "cluster/")
	}
	for name, test := range map[string]struct {
		config eviction.Config
		due    float64
	}{
		"one lineage": {eviction.Config{Lineage: ofClusters}, 70},
		"of nodes":    {eviction.Config{}, 110},
	} {
		t.Run(name, func(t *testing.T) {
			c := runningWith(t, test.config)
			c.ObserveTaints(at(0), "east", "east-uid", nil)
			c.Observe(at(0), workload("web", "east", "*:60"))
			c.ObserveTaints(at(10), "east", "east-uid", taintList("cluster/not-ready@10"))
			c.ObserveTaints(at(30), "east", "east-uid", taintList("cluster/unreachable@30"))
			c.ObserveTaints(at(50), "east", "east-uid", taintList("cluster/not-ready@50"))
			c.leavesAt("web/east", test.due)
			task := c.startOne(test.due, "web")
			live := newNode("east", "cluster/unreachable@60")
			live.UID = "east-uid"
			pod := newPod("web", on("east"), withUID("web/east"), tolerates("*:60"))
			again := task.Reevaluate(pod, live, at(test.due))
			require.Equal(t, name == "one lineage", again.DueAt(at(test.due)))
		})
	}
}

// A Subject is anything with tolerations in a place with taints: here workloads
// on clusters.
func ExampleTracker_Observe() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	tracker, err := eviction.NewTracker(eviction.Config{}, noon)
	if err != nil {
		panic(err)
	}
	tracker.ObserveTaints(noon, "member-1", "member-1-uid", nil)
	tracker.Observe(noon, eviction.Subject{
		Key: eviction.Key{Namespace: "shop", Name: "web", UID: "web-on-member-1"},
		On:  "member-1",
		Tolerations: []corev1.Toleration{{
			Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](300),
		}},
	})
	tracker.MarkSynced()

	tracker.ObserveTaints(noon, "member-1", "member-1-uid", []corev1.Taint{
		{Key: "cluster.example.com/not-ready", Effect: corev1.TaintEffectNoExecute},
	})
	next, _ := tracker.Next(noon)
	task, _ := tracker.Start(next)
	fmt.Println(next.Format(time.TimeOnly), task.Pod, "leaves", task.Node)
	// Output:
	// 12:05:00 shop/web leaves member-1
}

// A subject is decided by what was observed of it, whatever its caller does with
// the memory of another one that was forgotten.
func TestE11SubjectsDoNotDependOnForgottenOnes(t *testing.T) {
	c := running(t)
	c.ObserveTaints(at(0), "east", "east-uid", nil)
	former := workload("former", "east", "NR:60")
	c.Observe(at(0), former)
	c.Observe(at(0), workload("web", "east", "NR:60"))
	c.ForgetPod(at(1), former.UID)
	*former.Tolerations[0].TolerationSeconds = 5
	former.Tolerations[0].Key = "another"
	c.ObserveTaints(at(10), "east", "east-uid", taintList("NR@10"))
	c.leavesAt("web/east", 70)
}
