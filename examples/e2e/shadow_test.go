package e2e

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/process/shadow"
)

// upstreamUser and shadowUser are what the audit log knows the two by.
const upstreamUser, shadowUser = "upstream", "shadow"

// TestC7AShadowDiffersOnlyAsItsDocsSay: kube-controller-manager works on an
// outage of 100 of 150 nodes, and a shadow next to it writes nothing but its
// Lease. Each difference that it reports is one that package shadow lists.
func TestC7AShadowDiffersOnlyAsItsDocsSay(t *testing.T) {
	long(t)
	const outageGrace = 20 * time.Second
	c := newCluster(t, map[string]int{"a": 70, "b": 50, "c": 30},
		fleet.Pod{Name: "short", Tolerations: fleet.Tolerate(ptr.To[int64](5))},
		fleet.Pod{Name: "ever", Tolerations: fleet.Tolerate(nil)})
	both := []string{
		"--node-monitor-grace-period=" + outageGrace.String(), "--node-startup-grace-period=" + outageGrace.String(),
		"--kube-api-qps=500", "--kube-api-burst=500",
		"--node-eviction-rate=5", "--unhealthy-zone-threshold=0.95",
	}
	c.startUpstream(controlplane.KubeControllerManager, append([]string{
		"--kubeconfig=" + c.kubeconfigOf(upstreamUser),
		"--controllers=node-lifecycle-controller,taint-eviction-controller",
	}, both...)...)
	running := c.launchProgram("nodelifecycle", c.kubeconfigOf(shadowUser), append([]string{
		"--shadow", "--shadow-tolerance=2s", "--node-heartbeat-interval=" + interval.String(),
	}, both...)...)
	c.eventually("the shadow is ready", func(*witness) error { return running.answers("/readyz") })
	c.eventually("the API server's taints of new nodes are gone", func(w *witness) error {
		return w.each(c.fleet.AllNodes(), (*nodeSeen).wantHealthy)
	})
	time.Sleep(outageGrace + 2*interval) // the stabilization window of the shadow

	failed := slices.Concat(c.fleet.Nodes("a")[:60], c.fleet.Nodes("b")[:40])
	var leaving []string
	for _, name := range failed {
		leaving = append(leaving, fleet.PodName("short", name))
	}
	c.fleet.Cut(failed...)
	c.within(2*time.Minute, "all 100 are Unknown and tainted", func(w *witness) error {
		return w.each(failed, (*nodeSeen).wantIll)
	})
	c.eventually("their pods are evicted", wantEvicted(leaving...))
	time.Sleep(15 * time.Second) // the shadow may do it later
	c.fleet.Restore(failed...)
	c.eventually("the nodes are back", func(w *witness) error { return w.each(failed, (*nodeSeen).wantHealthy) })
	time.Sleep(15 * time.Second)

	body, err := running.get("/shadow?format=json&limit=10000")
	require.NoError(t, err)
	metrics, err := running.get("/metrics")
	require.NoError(t, err)
	require.Contains(t, metrics, `shadow_compared_actions_total{action="DeclareUnknown"`)
	c.stop(running)
	wantListedDifferences(t, body, len(failed))
	c.wantOnlyLeaseWrites()
	printed, err := os.ReadFile(running.log)
	require.NoError(t, err)
	require.Contains(t, string(printed), "What the shadow would have done, and what happened")
}

func (c *cluster) kubeconfigOf(user string) string {
	c.t.Helper()
	config, err := c.plane.UserConfig(user, "system:masters")
	require.NoError(c.t, err)
	path, err := c.plane.WriteKubeconfig(config)
	require.NoError(c.t, err)
	return path
}

// listed are the differences that the package comment of shadow lists, with the
// most that each may be in this outage. kube-controller-manager looks at nodes
// each 5 s, and its pass takes up to 5 s on a busy machine. A zone's nodes take
// 12 s at the rate, and the shadow waits for 2.2 s until it knows the zone.
var listed = map[shadow.Action]map[shadow.Verdict]time.Duration{
	shadow.ActionDeclareUnknown:   {shadow.VerdictEarlier: 15 * time.Second},
	shadow.ActionAddNoSchedule:    {shadow.VerdictEarlier: 15 * time.Second},
	shadow.ActionMarkPodNotReady:  {shadow.VerdictEarlier: 15 * time.Second},
	shadow.ActionAddNoExecute:     {shadow.VerdictEarlier: 27 * time.Second, shadow.VerdictLater: 15 * time.Second},
	shadow.ActionEvictPod:         {shadow.VerdictEarlier: 27 * time.Second, shadow.VerdictLater: 15 * time.Second},
	shadow.ActionRemoveNoExecute:  {shadow.VerdictEarlier: 10 * time.Second},
	shadow.ActionRemoveNoSchedule: {shadow.VerdictLater: interval + 2*time.Second},
}

type shadowPage struct {
	Tallies []struct {
		Action      shadow.Action
		Verdict     shadow.Verdict
		Count       int
		MostSeconds float64
	}
	Differences []json.RawMessage
}

func wantListedDifferences(t *testing.T, body string, failed int) {
	t.Helper()
	var page shadowPage
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	compared := map[shadow.Action]int{}
	for _, tally := range page.Tallies {
		t.Logf("%-16s %-12s %4d, at most %.1fs", tally.Action, tally.Verdict, tally.Count, tally.MostSeconds)
		compared[tally.Action] += tally.Count
	}
	for _, tally := range page.Tallies {
		if tally.Verdict == shadow.VerdictSame {
			continue
		}
		most, found := listed[tally.Action][tally.Verdict]
		if !found {
			t.Errorf("%d times %s %s, which is not listed", tally.Count, tally.Action, tally.Verdict)
			continue
		}
		if tally.MostSeconds > most.Seconds() {
			t.Errorf("%s %s by %.1fs, want at most %v", tally.Action, tally.Verdict, tally.MostSeconds, most)
		}
	}
	for _, action := range []shadow.Action{
		shadow.ActionDeclareUnknown, shadow.ActionAddNoSchedule, shadow.ActionRemoveNoSchedule,
		shadow.ActionAddNoExecute, shadow.ActionRemoveNoExecute, shadow.ActionMarkPodNotReady,
		shadow.ActionEvictPod,
	} {
		require.GreaterOrEqual(t, compared[action], failed, "comparisons of %s", action)
	}
	if t.Failed() {
		for _, d := range page.Differences {
			t.Log(string(d))
		}
	}
}

// wantOnlyLeaseWrites wants no write of the shadow but those of its Lease. That
// the API server is asked about callers of the pages stores nothing.
func (c *cluster) wantOnlyLeaseWrites() {
	c.t.Helper()
	requests, err := c.plane.Requests(context.Background(), controlplane.Filter{User: shadowUser})
	require.NoError(c.t, err)
	leases := 0
	for _, r := range requests {
		switch {
		case slices.Contains([]string{"get", "list", "watch"}, r.Verb):
		case r.Resource == "subjectaccessreviews" || r.Resource == "tokenreviews":
		case r.Resource == "leases" && r.Namespace == "kube-system" &&
			(r.Name == "nodelifecycle-shadow" || r.Name == "" && r.Verb == "create"):
			leases++
		default:
			c.t.Errorf("the shadow has sent %s %s/%s %s", r.Verb, r.Resource, r.Subresource, r.Object())
		}
	}
	require.Positive(c.t, leases, "the shadow's own Lease")
}
