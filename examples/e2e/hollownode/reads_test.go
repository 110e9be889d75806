package hollownode

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

const (
	// streamed is how clients of v1.37.1 list: they have all streamed, and the
	// stream goes on as their watch.
	streamed = " watch allowWatchBookmarks=true resourceVersionMatch=NotOlderThan sendInitialEvents=true watch=true"
	// ofPods is how a kubelet lists its pods, with the options that kubemark's
	// v1.37.1 has shown.
	ofPods = "/api/v1/pods spec.nodeName=NAME" + streamed
)

// fleetLists are all that a fleet with --list-per-node lists, and why. A
// kubelet lists its pods. It also lists its node, services, runtime classes,
// CSI drivers and requests for certificates. A hollow node has no use for them.
var fleetLists = map[string]string{
	ofPods: "each kubelet lists its pods",
	"/api/v1/nodes hollownode.kubelife.dev/fleet=default" + streamed:          "a fleet lists its nodes",
	"/api/v1/pods spec.nodeName!=" + streamed:                                 "a fleet lists all bound pods",
	"/api/v1/namespaces/kube-system/configmaps metadata.name=NAME" + streamed: "its process asks who may read metrics",
	"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases metadata.name=NAME" + streamed: "its process asks " +
		"whether it is halted",
}

// With --list-per-node a fleet that starts again asks for the lists of pods for
// which as many kubelets ask, with the same options.
func TestAStartListsPodsAsKubeletsDo(t *testing.T) {
	nodes := []string{"ours-00001", "ours-00002", "ours-00003"}
	c := newPlane(t)
	startOurs := func() { c.startNodes(fmt.Sprint("--nodes=", len(nodes)), "--name-prefix=ours", "--list-per-node") }
	startOurs()
	c.awaitReady(len(nodes))
	c.killFleet()
	since := time.Now()
	startOurs()
	c.eventually("the fleet lists what is listed here", func() string {
		found := c.listsOf(fleetAgent, since)
		for list, why := range fleetLists {
			if found[list] == nil {
				return why + ": " + list
			}
		}
		return unless(len(found[ofPods]), len(nodes))
	})
	found := c.listsOf(fleetAgent, since)
	assert.Equal(t, nodes, found[ofPods], "once each")
	for list := range found {
		assert.NotEmpty(t, fleetLists[list], "the fleet lists what is not listed here: %s", list)
	}
}

// lists are what a client has asked for, by what they are of. The name of a
// node is NAME there, and the values are these nodes in order, "" for none.
type lists map[string][]string

// listsOf returns what a client has asked for since a time.
func (c *cluster) listsOf(agent string, since time.Time) lists {
	c.Helper()
	found := lists{}
	for _, r := range c.requestsOf(agent, controlplane.Filter{Since: since}, nil) {
		if of, node, is := listOf(c, &r); is {
			found[of] = append(found[of], node)
		}
	}
	for _, nodes := range found {
		slices.Sort(nodes)
	}
	return found
}

// listOf returns what a request lists and how, and of which node. A watch that
// begins with all that there is lists as well. Timeouts are left out, which are
// random.
func listOf(c *cluster, r *controlplane.Request) (of, node string, is bool) {
	c.Helper()
	address, err := url.Parse(r.URI)
	require.NoError(c, err)
	query := address.Query()
	if r.Verb != "list" && query.Get("sendInitialEvents") != "true" {
		return "", "", false
	}
	fields, labels := query.Get("fieldSelector"), query.Get("labelSelector")
	for _, field := range []string{"spec.nodeName=", "metadata.name="} {
		if name, found := strings.CutPrefix(fields, field); found {
			fields, node = field+"NAME", name
		}
	}
	for _, name := range []string{"fieldSelector", "labelSelector", "timeout", "timeoutSeconds"} {
		query.Del(name)
	}
	options := strings.ReplaceAll(query.Encode(), "&", " ")
	return strings.Join(strings.Fields(strings.Join([]string{address.Path, fields, labels, r.Verb, options}, " ")), " "),
		node, true
}
