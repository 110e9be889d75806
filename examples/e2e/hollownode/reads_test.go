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
	// readNodes is how many hollow nodes start with one kubemark.
	readNodes = 3
	// kubemarkAgent is the user agent of kubemark's kubelet.
	kubemarkAgent = "hollow-kubelet"
	// streamed is how clients of v1.37.1 list: they have all streamed, and the
	// stream goes on as their watch.
	streamed = " watch allowWatchBookmarks=true resourceVersionMatch=NotOlderThan sendInitialEvents=true watch=true"
	// ofPods is how a kubelet lists its pods.
	ofPods = "/api/v1/pods spec.nodeName=NAME" + streamed
)

// A readDifference is one between the lists that kubemark and hollow nodes ask
// for, which is meant.
type readDifference struct {
	name   string
	theirs bool // kubemark asks for them, and hollow nodes do not; else the reverse
	lists  []string
}

// readDifferences must all show.
var readDifferences = []readDifference{
	{
		name: "a kubelet lists more than its pods", theirs: true, lists: []string{
			"/api/v1/nodes metadata.name=NAME",
			"/api/v1/services spec.clusterIP!=None",
			"/apis/certificates.k8s.io/v1/podcertificaterequests spec.nodeName=NAME",
			"/apis/node.k8s.io/v1/runtimeclasses",
			"/apis/storage.k8s.io/v1/csidrivers",
		},
	},
	{
		name: "a fleet lists its nodes and all bound pods", lists: []string{
			"/api/v1/nodes hollownode.kubelife.dev/fleet=default",
			"/api/v1/pods spec.nodeName!=",
		},
	},
	{
		name: "its process asks whether it is halted, and who may read its metrics", lists: []string{
			"/api/v1/namespaces/kube-system/configmaps metadata.name=NAME",
			"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases metadata.name=NAME",
		},
	},
}

// With --list-per-node a fleet that starts again asks for the lists of pods for
// which as many kubelets ask, with the same options.
func TestAStartListsPodsAsKubeletsDo(t *testing.T) {
	c := newPlane(t)
	theirs := c.startKubemark()
	startOurs := func() { c.startNodes(fmt.Sprint("--nodes=", readNodes), "--name-prefix=ours", "--list-per-node") }
	startOurs()
	c.awaitReady(readNodes + 1)
	theirs.process.Kill()
	c.killFleet()
	since := time.Now()
	theirs.start()
	startOurs()
	for agent, nodes := range map[string][]string{
		kubemarkAgent: {theirsNode}, fleetAgent: {"ours-00001", "ours-00002", "ours-00003"},
	} {
		wanted := wantedLists(agent == kubemarkAgent)
		c.eventually(agent+" lists what is listed here", func() string {
			found := c.listsOf(agent, since)
			for list, why := range wanted {
				if found[list] == nil {
					return why + ": " + list
				}
			}
			return unless(len(found[ofPods]), len(nodes))
		})
		found := c.listsOf(agent, since)
		assert.Equal(t, nodes, found[ofPods], "once each")
		for list := range found {
			assert.NotEmpty(t, wanted[list], "%s lists what is not listed here: %s", agent, list)
		}
	}
}

// wantedLists returns what one side lists, and why the other does not.
func wantedLists(theirs bool) map[string]string {
	wanted := map[string]string{ofPods: "both do"}
	for _, d := range readDifferences {
		for _, list := range d.lists {
			if d.theirs == theirs {
				wanted[list+streamed] = d.name
			}
		}
	}
	return wanted
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
