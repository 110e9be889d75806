package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

func TestAllNodesMixZones(t *testing.T) {
	f := &Fleet{nodes: map[string][]string{"b": {"b-0000", "b-0001"}, "a": {"a-0000", "a-0001", "a-0002"}}}
	require.Equal(t, []string{"a-0000", "b-0000", "a-0001", "b-0001", "a-0002"}, f.AllNodes())
	require.Equal(t, []string{"b-0000", "b-0001"}, f.Nodes("b"))
}

// A heartbeat counts as stored when the API server has answered that it is, and
// not when it was only received. No other request is one.
func TestOnlyAnsweredHeartbeatsAreStored(t *testing.T) {
	received := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	request := func(code int, verb, resource, subresource string) controlplane.Request {
		return controlplane.Request{
			Verb: verb, Resource: resource, Subresource: subresource, Name: "a", Code: code,
			Received: received, Answered: received.Add(time.Second),
		}
	}
	beats := []controlplane.Request{
		request(201, "create", "leases", ""), request(200, "update", "leases", ""), request(200, "patch", "nodes", "status"),
	}
	require.Equal(t, map[string][]Beat{
		"a": slices.Repeat([]Beat{{received, received.Add(time.Second)}}, len(beats)),
	}, beatsIn(beats))
	for i := range beats {
		for _, code := range []int{0, 409, 500} {
			beats[i].Code = code
			require.Len(t, beatsIn(beats)["a"], len(beats)-1-i)
		}
	}
	require.Empty(t, beatsIn([]controlplane.Request{
		request(200, "get", "leases", ""), request(200, "patch", "pods", "status"), request(200, "patch", "nodes", ""),
	}))
}
