package cluster_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/cluster"
)

// encoded is what kubectl prints of the objects.
func encoded(t *testing.T, o *cluster.Objects) string {
	t.Helper()
	var items []any
	add := func(apiVersion, kind string, object any) {
		data, err := json.Marshal(object)
		require.NoError(t, err)
		fields := map[string]any{}
		require.NoError(t, json.Unmarshal(data, &fields))
		fields["apiVersion"], fields["kind"] = apiVersion, kind
		items = append(items, fields)
	}
	for i := range o.Nodes {
		add("v1", "Node", o.Nodes[i])
	}
	for i := range o.Leases {
		add("coordination.k8s.io/v1", "Lease", o.Leases[i])
	}
	for i := range o.Pods {
		add("v1", "Pod", o.Pods[i])
	}
	for i := range o.ReplicaSets {
		add("apps/v1", "ReplicaSet", o.ReplicaSets[i])
	}
	for i := range o.Deployments {
		add("apps/v1", "Deployment", o.Deployments[i])
	}
	data, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, "", "  ")
	require.NoError(t, err)
	return string(data)
}

func TestTheOutputOfKubectlIsRead(t *testing.T) {
	want, _ := imported(t, shop(), cluster.Config{})
	o, err := cluster.Decode([]byte(encoded(t, shop())))
	require.NoError(t, err)
	got, _ := imported(t, o, cluster.Config{})
	require.Equal(t, want, got)
}

func TestWhatIsNoListOfACluster(t *testing.T) {
	text := encoded(t, shop())
	beginning, _, found := strings.Cut(text, `"n4"`)
	require.True(t, found)
	nodes := encoded(t, &cluster.Objects{Nodes: shop().Nodes})
	for name, test := range map[string]struct{ text, says string }{
		"nothing":   {" \n", "it is empty; make it with kubectl get nodes,leases,pods"},
		"cut off":   {beginning, "it ends in line"},
		"no JSON":   {"{\n  apiVersion: v1\n}", "line 2 is no JSON: invalid character 'a'"},
		"a list":    {"[]", "it is no object in JSON"},
		"a pod":     {`{"kind": "Pod", "apiVersion": "v1"}`, "want a List of v1, not Pod of v1; make it with kubectl"},
		"a PodList": {`{"kind": "PodList", "apiVersion": "v1"}`, "not PodList of v1"},
		"no kind":   {`{"items": []}`, "not an object without a kind"},
		"empty list": {`{"kind": "List", "apiVersion": "v1", "items": []}`,
			"there are no nodes and no pods: there are no objects at all"},
		"one kind": {nodes, "there are no pods: there are only 5 of kind Node; make it with kubectl"},
		"others": {`{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Service", "apiVersion": "v1"}]}`,
			"there are only 1 of kind v1 Service"},
		"no object": {`{"kind": "List", "apiVersion": "v1", "items": [{}]}`,
			"items[0]: want an object with apiVersion and kind"},
		"a number for a name": {`{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod", "apiVersion": "v1",
			"metadata": {"name": 3}}]}`, "items[0]: a Pod that cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cluster.Decode([]byte(test.text))
			require.ErrorContains(t, err, test.says)
		})
	}
	_, _, err := cluster.Import(&cluster.Objects{}, cluster.Config{})
	require.ErrorContains(t, err, "there are no nodes and no pods")
}
