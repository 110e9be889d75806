package daemonset

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestTakingOverAndHandingBackRestartsNoPod is promise D3, with
// kube-controller-manager v1.37.1 itself: it rolls two templates out, ours
// takes over, rolls back to the first one, and hands over again. In between no
// pod is restarted and no revision is written.
func TestTakingOverAndHandingBackRestartsNoPod(t *testing.T) {
	const nodes, name = 30, "agent"
	c := newCluster(t, nodes)
	c.addSet(name, 5)

	stopUpstream := c.startUpstream()
	c.rolledOut(name, nodes)
	first := c.revisions()
	require.Len(t, first, 1)
	c.setImage(name, "example.invalid/agent:2")
	c.rolledOut(name, nodes)
	stopUpstream()
	theirs, status := c.uids(), c.daemonSet(name).Status

	// Ours has nothing to do. That it works shows on a node that is new.
	ours, stopOurs := start(t, c.user("ours", nil))
	c.eventually("ours is at rest", ours.isAtRest)
	require.NoError(t, ours.has())
	require.Empty(t, c.writes("ours"))
	require.Equal(t, status, c.daemonSet(name).Status)
	require.NoError(t, c.addNode(t.Context(), "new-1"))
	c.rolledOut(name, nodes+1)
	c.sameBut(theirs, "new-1")

	// Back to the first template, whose revision is the one that upstream has
	// made.
	c.setImage(name, "example.invalid/agent:1")
	c.rolledOut(name, nodes+1)
	require.Equal(t, hash(&first[0]), c.hashOfAllPods())
	after := c.revisions()
	require.Len(t, after, 2)
	for _, revision := range after {
		if revision.Name == first[0].Name {
			require.Equal(t, int64(3), revision.Revision)
			require.True(t, bytes.Equal(first[0].Data.Raw, revision.Data.Raw))
		}
	}

	// And a third one, whose revision upstream has to know.
	c.setImage(name, "example.invalid/agent:3")
	c.rolledOut(name, nodes+1)
	stopOurs()
	require.NoError(t, ours.has())
	mine, before := c.uids(), c.revisions()

	c.startUpstream()
	require.NoError(t, c.addNode(t.Context(), "new-2"))
	c.rolledOut(name, nodes+2)
	c.sameBut(mine, "new-2")
	require.Equal(t, before, c.revisions())
	require.Len(t, before, 3)
}

// sameBut requires that every node has the pod that it had, and the new one
// some.
func (c *cluster) sameBut(former map[string]types.UID, added string) {
	c.Helper()
	now := c.uids()
	require.NotEmpty(c, now[added])
	delete(now, added)
	require.Equal(c, former, now)
}

// hashOfAllPods returns the hash that all pods carry.
func (c *cluster) hashOfAllPods() string {
	living, err := c.witness.living()
	require.NoError(c, err)
	hashes := map[string]bool{}
	last := ""
	for _, pod := range living {
		last = pod.Labels[appsv1.ControllerRevisionHashLabelKey]
		hashes[last] = true
	}
	require.Len(c, hashes, 1)
	return last
}

func hash(revision *appsv1.ControllerRevision) string {
	return revision.Labels[appsv1.ControllerRevisionHashLabelKey]
}
