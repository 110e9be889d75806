package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// refused sends a patch whose guard does not hold, and returns its answer.
func (c *court) refused(kind network.Kind, name string) {
	c.t.Helper()
	answer := c.call(&network.Call{
		Verb: network.Patch, Kind: kind, Name: name, PatchType: types.JSONPatchType, Subresource: "status",
		Data: []byte(`[{"op":"test","path":"/metadata/uid","value":"another"}]`),
	})
	require.Error(c.t, answer.Err)
}

func TestReadFirst(t *testing.T) {
	for name, kind := range map[string]network.Kind{"a node": network.Nodes, "a pod": network.Pods} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t, 4)
			c.checks = false
			of, other := "a-0", "a-1"
			if kind == network.Pods {
				of, other = c.podOn(of), c.podOn(other)
			}
			c.refused(kind, of)
			c.refused(kind, other)
			c.clean("each object has one")
			c.call(&network.Call{Verb: network.Get, Kind: kind, Name: of})
			c.refused(kind, of)
			c.clean("it was read")
			end := c.world.FailCalls(1, []int{500}, network.Get)
			c.call(&network.Call{Verb: network.Get, Kind: kind, Name: of})
			end()
			c.clean()
			c.refused(kind, of)
			c.guilty(judge.NotTwice, "that read failed")
		})
	}
}

// A client that was restarted does not know of a refusal.
func TestReadFirstOfAnotherClient(t *testing.T) {
	c := newCourt(t, 4)
	c.checks = false
	c.refused(network.Nodes, "a-0")
	c.startClient()
	c.pass(0)
	c.refused(network.Nodes, "a-0")
	c.clean()
}
