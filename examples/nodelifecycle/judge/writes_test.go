package judge_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

func TestOthersUntouched(t *testing.T) {
	admins := corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		patch string
		sub   string
		want  bool // to be a violation
	}{
		"our taint": {`{"spec":{"taints":[{"key":"maintenance","effect":"NoSchedule"},` +
			`{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}}`, "", false},
		"their taint": {`{"spec":{"taints":[]}}`, "", true},
		"their taint's value": {`{"spec":{"taints":[{"key":"maintenance","effect":"NoSchedule","value":"x"}]}}`, "",
			true},
		"another taint": {`{"spec":{"taints":[{"key":"maintenance","effect":"NoSchedule"},` +
			`{"key":"more","effect":"NoSchedule"}]}}`, "", true},
		"our key, their effect": {`{"spec":{"taints":[{"key":"maintenance","effect":"NoSchedule"},` +
			`{"key":"node.kubernetes.io/memory-pressure","effect":"NoExecute"}]}}`, "", true},
		"label of the architecture": {`{"metadata":{"labels":{"beta.kubernetes.io/arch":"amd64"}}}`, "", false},
		"a wrong one":               {`{"metadata":{"labels":{"beta.kubernetes.io/arch":"mips"}}}`, "", true},
		"another label":             {`{"metadata":{"labels":{"zone":"x"}}}`, "", true},
		"annotation":                {`{"metadata":{"annotations":{"note":"x"}}}`, "", true},
		"unschedulable":             {`{"spec":{"unschedulable":true}}`, "", true},
		"a condition to Unknown": {`{"status":{"conditions":[{"type":"PIDPressure","status":"Unknown"}]}}`, "status",
			false},
		"a condition to True": {`{"status":{"conditions":[{"type":"PIDPressure","status":"True"}]}}`, "status", true},
		"another condition": {`{"status":{"conditions":[{"type":"NetworkUnavailable","status":"Unknown"}]}}`,
			"status", true},
		"a condition taken away": {`{"status":{"conditions":[{"type":"PIDPressure","$patch":"delete"}]}}`, "status", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, 4)
			c.checks = false
			c.world.Machine("a-0").Edit(func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{admins}
				n.Labels = map[string]string{corev1.LabelTopologyZone: "a", corev1.LabelArchStable: "amd64"}
			})
			c.run(time.Second)
			answer := c.call(&network.Call{
				Verb: network.Patch, Kind: network.Nodes, Name: "a-0", PatchType: types.StrategicMergePatchType, Subresource: test.sub,
				Data: []byte(test.patch),
			})
			if answer.Err != nil {
				t.Fatal(answer.Err)
			}
			if !test.want {
				c.clean()
				return
			}
			c.guilty(judge.OthersUntouched)
		})
	}
}

func TestOthersUntouchedOfPods(t *testing.T) {
	for name, test := range map[string]struct {
		kind   corev1.PodConditionType
		status string
		want   bool
	}{
		"not ready":      {corev1.PodReady, "False", false},
		"ready":          {corev1.PodReady, "Unknown", true},
		"marked":         {corev1.DisruptionTarget, "True", false},
		"not marked":     {corev1.DisruptionTarget, "False", true},
		"something else": {corev1.PodScheduled, "False", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, 4)
			c.checks = false
			c.setPodCondition(c.podOn("a-0"), test.kind, test.status, "")
			if !test.want {
				c.clean()
				return
			}
			c.guilty(judge.OthersUntouched)
		})
	}
}

func TestLineageKept(t *testing.T) {
	c := newCourt(t, 4)
	c.ill("a-0")
	old := c.world.Node("a-0").Spec.Taints[1]
	c.run(20 * time.Second)
	kept := old
	kept.Key = corev1.TaintNodeNotReady
	c.setTaints("a-0", kept)
	c.clean()
	c.setTaints("a-0", c.noExecute(corev1.TaintNodeUnreachable))
	c.guilty(judge.TimesTold)

	c = newCourt(t, 4)
	c.checks = false
	c.fall("a-0")
	c.run(wave)
	c.setTaints("a-0", corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
	c.guilty(judge.TimesTold, "it has no time")
}

func TestNotTwice(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.ill("a-0")
	c.run(patience + time.Second)
	c.evict(pod)
	c.run(time.Minute)
	c.evict(pod)
	c.guilty(judge.NotTwice)
}

// A client without an answer has to try again.
func TestNotTwiceForgivesALostAnswer(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.ill("a-0")
	c.run(patience + time.Second)
	end := c.world.LoseAnswers(1)
	c.evict(pod)
	c.markNotReady(pod)
	end()
	c.evict(pod)
	c.markNotReady(pod)
	c.clean()
}

func TestNotTwiceTheSameWrite(t *testing.T) {
	c := newCourt(t, 4)
	pod := c.podOn("a-0")
	c.checks = false
	c.setTaints("a-0", noSchedule(corev1.TaintNodeMemoryPressure))
	c.markNotReady(pod)
	c.pass(2 * time.Second) // the kubelet disagrees
	c.markNotReady(pod)
	c.clean("it has changed meanwhile")
	c.markNotReady(pod)
	c.guilty(judge.NotTwice)

	c = newCourt(t, 4)
	c.checks = false
	c.setTaints("a-0", noSchedule(corev1.TaintNodeMemoryPressure))
	c.setTaints("a-0", noSchedule(corev1.TaintNodeDiskPressure))
	c.clean()
	c.setTaints("a-0", noSchedule(corev1.TaintNodeDiskPressure))
	c.guilty(judge.NotTwice)
}

func TestQuiet(t *testing.T) {
	c := newCourt(t, 4)
	c.judge.Quiet(c.world.Elapsed() + time.Minute)
	c.call(&network.Call{Verb: network.Get, Kind: network.Nodes, Name: "a-0"})
	c.run(2 * time.Minute)
	c.call(&network.Call{Verb: network.Get, Kind: network.LeaderLease})
	c.clean()
	c.call(&network.Call{Verb: network.Get, Kind: network.Nodes, Name: "a-0"})
	c.guilty(judge.Quiet)
}
