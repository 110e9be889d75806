package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// The times of the takeover.
const (
	takeoverGrace = 20 * time.Second
	takeoverBeat  = 4 * time.Second
	// takeoverGap is how long an operator leaves the cluster without a controller.
	takeoverGap = 8 * time.Second
	// takeoverRate is how many nodes of a zone may be tainted in a second. So the
	// first handover comes while nodes wait for their taint.
	takeoverRate = 2
	// moved is how far a deadline may move.
	moved = 2 * time.Second
)

// takeoverFlags are understood by both programs, and are the same for both.
var takeoverFlags = []string{
	"--node-monitor-grace-period=" + takeoverGrace.String(),
	"--node-startup-grace-period=" + takeoverGrace.String(),
	fmt.Sprintf("--node-eviction-rate=%d", takeoverRate),
	"--secondary-node-eviction-rate=0.1",
	"--unhealthy-zone-threshold=0.55",
	"--large-cluster-size-threshold=50",
	"--kube-api-qps=500", "--kube-api-burst=500",
	"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=4s",
	"--leader-elect-retry-period=1s",
}

// tolerated are the seconds for which the pods of a node tolerate that it is
// silent, by kind. Nil is for ever, and none has no toleration at all.
var tolerated = map[string]*int64{
	"s0": ptr.To[int64](0), "s3": ptr.To[int64](3), "s8": ptr.To[int64](8),
	"s15": ptr.To[int64](15), "s25": ptr.To[int64](25), "s40": ptr.To[int64](40),
	"s60": ptr.To[int64](60), "ever": nil,
}

const none = "none"

// seconds returns how long a pod of a kind tolerates, false when for ever.
func seconds(kind string) (time.Duration, bool) {
	n := tolerated[kind]
	if kind == none {
		n = new(int64(0))
	}
	if n == nil {
		return 0, false
	}
	return time.Duration(*n) * time.Second, true
}

// The programs by the beginning of their user agents, which are also the names
// of their leases.
const (
	upstream = "kube-controller-manager"
	ours     = "nodelifecycle"
)

// tenure is the time in which one program was in charge. It ends when SIGTERM
// is sent.
type tenure struct {
	program              string
	started, leads, ends time.Time
	process              *controlplane.Process
}

// TestTakeoverAndBack: in the middle of an outage the work goes from
// kube-controller-manager to nodelifecycle and back. Each time a program is
// stopped with SIGTERM, nodes fall and return while none runs, and the other
// one is started.
//
// 100 of 500 nodes are down, and 24 more fall: in each zone fewer than a third,
// below the threshold of 55 %. So every zone is in its normal state at any time
// and has the same rate under either program. A disrupted zone would stop the
// taints, and a deadline would say nothing about the handover.
//
// The promises are asserted of nodelifecycle's tenure and of both gaps. What
// kube-controller-manager does after its start is logged in a column of its
// own.
func TestTakeoverAndBack(t *testing.T) {
	long(t)
	o := newTakeover(t)
	first := o.start(upstream, o.upstreamProgram())
	o.c.within(patience, "kube-controller-manager has untainted the new nodes", func(w *witness) error {
		return w.each(o.c.fleet.AllNodes(), (*nodeSeen).wantHealthy)
	})

	o.cut = time.Now()
	o.c.fleet.Cut(o.down...)
	o.c.within(2*takeoverGrace, "half of the nodes are tainted", o.wantTainted(o.down, len(o.down)/2))
	time.Sleep(5 * time.Second) // the tolerations of some end
	o.hand(first, 0)
	second := o.start(ours, program(t, ours), "--node-heartbeat-interval="+takeoverBeat.String())

	o.c.within(2*takeoverGrace+2*takeoverBeat, "those that fell in the first gap are Unknown", func(w *witness) error {
		return w.each(o.fallen[0], func(n *nodeSeen) error { return n.wantReady(corev1.ConditionUnknown) })
	})
	left := without(slices.Concat(o.down, o.fallen[0]), o.returned[0])
	o.c.within(2*takeoverGrace, "every silent node is tainted", o.wantTainted(left, len(left)))
	time.Sleep(20 * time.Second)
	o.hand(second, 1)
	third := o.start(upstream, o.upstreamProgram())
	o.c.within(2*takeoverGrace+patience, "those that fell in the second gap are tainted",
		o.wantTainted(o.fallen[1], len(o.fallen[1])))
	time.Sleep(time.Until(third.leads.Add(70 * time.Second))) // tolerations begin again
	o.stop(third)

	o.readRequests()
	require.NoError(t, o.history.failure())
	o.wantDeadlines()
	o.wantOneDeletion()
	o.wantNoFlaps()
	o.wantLivingAlone()
	o.wantGap()
}

// takeover is the cluster of the test, and what became of it.
type takeover struct {
	c        *cluster
	t        *testing.T
	history  *history
	down     []string
	fallen   [2][]string // in each gap
	returned [2][]string
	backAt   [2]time.Time
	cut      time.Time
	tenures  []*tenure
	// writes are the requests of both programs since the cut, except for reads,
	// leases and events.
	writes []controlplane.Request
}

func newTakeover(t *testing.T) *takeover {
	t.Helper()
	config := controlplane.Config{APIServerFlags: map[string]string{
		// The second would give 300 s to pods without tolerations.
		"disable-admission-plugins": "ServiceAccount,DefaultTolerationSeconds",
	}}
	zones := map[string]int{"a": 168, "b": 166, "c": 166}
	o := &takeover{t: t, c: newClusterWith(t, config, takeoverBeat, zones)}
	for zone, n := range map[string]int{"a": 34, "b": 33, "c": 33} {
		nodes := o.c.fleet.Nodes(zone)
		o.down = append(o.down, nodes[:n]...)
		o.fallen[0] = append(o.fallen[0], nodes[n:n+4]...)
		o.fallen[1] = append(o.fallen[1], nodes[n+4:n+8]...)
	}
	var kinds []fleet.Pod
	for kind, seconds := range tolerated {
		kinds = append(kinds, fleet.Pod{Name: kind, Tolerations: fleet.Tolerate(seconds)})
	}
	require.NoError(t, o.c.fleet.AddPods(t.Context(), o.c.fleet.AllNodes(), fleet.Pod{Name: none}))
	require.NoError(t, o.c.fleet.AddPods(t.Context(), slices.Concat(o.down, o.fallen[0], o.fallen[1]), kinds...))
	access := sidebyside.Protobuf(o.c.plane.RESTConfig())
	access.UserAgent = "history"
	client, err := kubernetes.NewForConfig(access)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	o.history, err = newHistory(ctx, client)
	require.NoError(t, err)
	return o
}

func (o *takeover) upstreamProgram() string {
	o.t.Helper()
	paths, err := controlplane.Build(o.t.Context(), controlplane.BuildConfig{}, controlplane.KubeControllerManager)
	require.NoError(o.t, err)
	return paths[controlplane.KubeControllerManager]
}

// start starts a program and returns when it leads.
func (o *takeover) start(name, path string, flags ...string) *tenure {
	o.t.Helper()
	next := &tenure{program: name, started: time.Now()}
	args := append([]string{"--kubeconfig=" + o.c.plane.Kubeconfig(), "--secure-port=0"}, takeoverFlags...)
	if name == upstream {
		args = append(args, "--controllers=node-lifecycle-controller,taint-eviction-controller",
			"--node-monitor-period=5s")
	}
	var err error
	next.process, err = controlplane.StartProcess(controlplane.Command{
		Path: path, Args: append(args, flags...),
		LogFile: filepath.Join(o.t.TempDir(), name+".log"),
	})
	require.NoError(o.t, err)
	o.t.Cleanup(func() {
		next.process.Stop(5 * time.Second)
		if o.t.Failed() {
			o.t.Log(next.process.LogTail(10))
		}
	})
	o.c.eventually(name+" leads", func(*witness) error {
		lease, err := o.c.client.CoordinationV1().Leases(metav1.NamespaceSystem).
			Get(o.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.AcquireTime == nil || lease.Spec.AcquireTime.Time.Before(next.started) {
			return fmt.Errorf("the lease is that of %v", ptr.Deref(lease.Spec.HolderIdentity, ""))
		}
		next.leads = lease.Spec.AcquireTime.Time
		return nil
	})
	o.tenures = append(o.tenures, next)
	return next
}

// stop ends a program as an operator does.
func (o *takeover) stop(last *tenure) {
	o.t.Helper()
	require.True(o.t, last.process.Running(), "%s has ended by itself", last.program)
	last.ends = time.Now()
	require.NoError(o.t, last.process.Signal(syscall.SIGTERM))
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	err := last.process.Wait(ctx)
	o.t.Logf("%6.1fs  %s ended after SIGTERM: %v", time.Since(last.ends).Seconds(), last.program, err)
	if last.program == ours {
		require.NoError(o.t, err)
	}
	require.NoError(o.t, ctx.Err())
}

// hand ends a program, and lets nodes fall and return while none is in charge.
func (o *takeover) hand(last *tenure, gap int) {
	o.t.Helper()
	o.stop(last)
	o.c.fleet.Cut(o.fallen[gap]...)
	for _, name := range without(o.down, o.returned[0]) {
		if all := spans(o.history.node(name)); len(all) > 0 && len(o.returned[gap]) < 10 {
			o.returned[gap] = append(o.returned[gap], name)
		}
	}
	time.Sleep(takeoverGap / 4)
	o.backAt[gap] = time.Now()
	o.c.fleet.Restore(o.returned[gap]...)
	time.Sleep(time.Until(last.ends.Add(takeoverGap)))
}

// wantTainted wants that so many of some nodes were tainted NoExecute.
func (o *takeover) wantTainted(nodes []string, want int) func(*witness) error {
	return func(*witness) error {
		var n int
		for _, name := range nodes {
			if len(spans(o.history.node(name))) > 0 {
				n++
			}
		}
		if n < want {
			return fmt.Errorf("%d of %d", n, len(nodes))
		}
		return nil
	}
}
