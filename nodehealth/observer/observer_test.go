package observer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// A cluster is client-go's fake one, whose nodes renew their leases.
type cluster struct {
	*fake.Clientset
	t       *testing.T
	factory informers.SharedInformerFactory
	renewed int
}

func newCluster(t *testing.T, nodes ...string) *cluster {
	t.Helper()
	c := &cluster{Clientset: fake.NewClientset(), t: t}
	for _, name := range nodes {
		object := nodeOf(name, corev1.ConditionTrue)
		object.Labels = map[string]string{corev1.LabelTopologyZone: zoneOfName(object)}
		_, err := c.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
		lease := leaseOf(name, time.Now(), "")
		_, err = c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), lease, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	c.factory = informers.NewSharedInformerFactory(c, 0)
	return c
}

// renew has nodes renew their leases.
func (c *cluster) renew(names ...string) {
	for _, name := range names {
		c.renewed++
		lease := leaseOf(name, time.Now(), strconv.Itoa(1000+c.renewed))
		_, err := c.CoordinationV1().Leases(lease.Namespace).Update(c.t.Context(), lease, metav1.UpdateOptions{})
		require.NoError(c.t, err)
	}
}

// pass lets time pass in which nodes renew their leases every ten seconds.
func (c *cluster) pass(d time.Duration, living ...string) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		c.renew(living...)
		time.Sleep(10 * time.Second)
	}
	synctest.Wait()
}

// run runs an Observer, and returns what ends it.
func (c *cluster) run(config Config) (*Observer, func() error) {
	c.t.Helper()
	config.Factory = c.factory
	o, err := NewObserver(config)
	require.NoError(c.t, err)
	factoryCtx, stopFactory := context.WithCancel(c.t.Context())
	c.factory.Start(factoryCtx.Done())
	ctx, stop := context.WithCancel(c.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx) }()
	time.Sleep(time.Second) // client-go looks ten times a second whether its lists have come
	return o, func() error {
		stop()
		err := <-ended
		stopFactory()
		c.factory.Shutdown()
		return err
	}
}

func silentIn(v *View) []string { return slices.Sorted(v.SilentNodes()) }

// H10: an Observer on the caller's informers sees silence, zones and phase, tells
// changes, and writes nothing.
func TestH10ObserverFollowsACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "a-0", "a-1", "b-0")
		elsewhere := leaseOf("a-1", time.Now(), "")
		elsewhere.Namespace = "kube-system"
		_, err := c.CoordinationV1().Leases("kube-system").Create(t.Context(), elsewhere, metav1.CreateOptions{})
		require.NoError(t, err)
		var told teller
		o, end := c.run(Config{OnChange: told.tell})
		require.True(t, o.View().Synced())
		require.Equal(t, []Change{{Zones: []string{":\x00:a", ":\x00:b"}}}, told.take())

		c.pass(60*time.Second, "a-0", "a-1", "b-0")
		require.Equal(t, zone.PhaseActive, o.View().Phase())
		require.Empty(t, silentIn(o.View()))
		require.Equal(t, []Change{{Phase: true}}, told.take())
		c.ClearActions()

		c.pass(20*time.Second, "a-0", "b-0")
		for range 2 { // another lease of the same name is no heartbeat
			elsewhere.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
			_, err = c.CoordinationV1().Leases("kube-system").Update(t.Context(), elsewhere, metav1.UpdateOptions{})
			require.NoError(t, err)
			c.pass(10*time.Second, "a-0", "b-0")
		}
		require.NoError(t, c.CoordinationV1().Leases("kube-system").Delete(t.Context(), "a-1", metav1.DeleteOptions{}))
		labelled, err := c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "a-1", metav1.GetOptions{})
		require.NoError(t, err)
		labelled.Labels = map[string]string{"by": "another client"} // that renews nothing
		_, err = c.CoordinationV1().Leases(labelled.Namespace).Update(t.Context(), labelled, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Equal(t, []string{"a-1"}, silentIn(o.View()))
		status, _ := o.View().ZoneOf("a-0")
		require.Equal(t, zone.Counts{Ready: 1, NotReady: 1}, status.Counts)
		require.Equal(t, []Change{{Nodes: []string{"a-1"}}}, told.take())

		c.renew("a-1")
		synctest.Wait()
		require.Empty(t, silentIn(o.View()))
		require.Equal(t, []Change{{Nodes: []string{"a-1"}}}, told.take(), "at once")
		require.NoError(t, c.CoreV1().Nodes().Delete(t.Context(), "b-0", metav1.DeleteOptions{}))
		c.pass(10*time.Second, "a-0", "a-1")
		_, known := o.View().ZoneOf("b-0")
		require.False(t, known)
		require.Equal(t, []Change{{Zones: []string{":\x00:b"}}}, told.take())

		require.NoError(t, c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(
			t.Context(), "a-1", metav1.DeleteOptions{}))
		c.pass(30*time.Second, "a-0")
		require.Equal(t, []string{"a-1"}, silentIn(o.View()))
		require.NoError(t, end())
		require.False(t, told.early)
		requireOnlyTheTest(t, c)
	})
}

// teller records what it is told. It is called on a worker's goroutine.
type teller struct {
	mu    sync.Mutex
	told  []Change
	early bool // before the caches were filled
}

func (l *teller) tell(view *View, change Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, change)
	l.early = l.early || !view.Synced()
}

func (l *teller) take() []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.told
	l.told = nil
	return told
}

// requireOnlyTheTest requires that no request was sent except those of the test.
func requireOnlyTheTest(t *testing.T, c *cluster) {
	t.Helper()
	for _, action := range c.Actions() {
		require.Contains(t, []string{"leases", "nodes"}, action.GetResource().Resource)
		require.Contains(t, []string{"get", "update", "delete"}, action.GetVerb(), "%v", action)
	}
}

// H10: what has ended leaves no handler behind on the caller's informers.
func TestH10RunLeavesTheInformersAlone(t *testing.T) {
	for name, runs := range map[string]time.Duration{"before the caches are filled": 0, "after": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, "a-0")
				o, err := NewObserver(Config{Factory: c.factory})
				require.NoError(t, err)
				if runs > 0 {
					c.factory.Start(t.Context().Done())
				}
				ctx, stop := context.WithTimeout(t.Context(), runs)
				defer stop()
				require.NoError(t, o.Run(ctx))
				require.Equal(t, runs > 0, o.View().Synced())
				c.factory.Start(t.Context().Done())

				_, err = c.CoreV1().Nodes().Create(t.Context(), nodeOf("late", corev1.ConditionTrue), metav1.CreateOptions{})
				require.NoError(t, err)
				c.renew("a-0")
				c.pass(time.Minute, "a-0")
				_, known := o.View().ZoneOf("late")
				require.False(t, known)
				heard, _ := o.tracker.LastHeartbeat("a-0")
				require.False(t, heard.After(time.Now().Add(-time.Minute)))
			})
		})
	}
}

// H4: with a client the silence of a node is confirmed: one node is read by its
// name, and many by one list.
func TestH4ObserverReadsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("a-%02d", i))
		}
		c := newCluster(t, names...)
		reads := &reader{LeaseClient: c.CoordinationV1().Leases(corev1.NamespaceNodeLease)}
		o, end := c.run(Config{Leases: reads})
		c.pass(60*time.Second, names...)
		reads.answer(errors.New("no answer"))
		c.pass(30*time.Second, names[2:]...)
		require.Empty(t, silentIn(o.View()))
		status, _ := o.View().ZoneOf("a-00")
		require.Equal(t, zone.Counts{Ready: 28, Unconfirmed: 2}, status.Counts)
		// Few are read by name. Which of them is first is chance.
		require.NotEmpty(t, reads.selectors())
		require.Subset(t, []string{"metadata.name=a-00", "metadata.name=a-01"}, reads.selectors())

		reads.answer(nil)
		c.pass(20*time.Second, names[2:]...)
		require.Equal(t, []string{"a-00", "a-01"}, silentIn(o.View()))
		require.ElementsMatch(t, []string{"metadata.name=a-00", "metadata.name=a-01"}, reads.selectors())

		reads.answer(nil)
		c.pass(30*time.Second, names[20:]...)
		require.Len(t, silentIn(o.View()), 20)
		require.Equal(t, []string{""}, reads.selectors())
		require.NoError(t, end())
	})
}

// reader records which leases are read.
type reader struct {
	LeaseClient

	mu    sync.Mutex
	fail  error
	asked []string
}

func (r *reader) List(ctx context.Context, opts metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	r.mu.Lock()
	r.asked = append(r.asked, opts.FieldSelector)
	fail := r.fail
	r.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	return r.LeaseClient.List(ctx, opts)
}

func (r *reader) selectors() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// answer makes all reads fail from now on, or with nil succeed.
func (r *reader) answer(fail error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail, r.asked = fail, nil
}

// H10: a callback that hangs, and a read that hangs, keep no change from the
// View.
func TestH10SlowCallbackDelaysNoView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "a-0", "a-1", "a-2", "b-0")
		hangs := make(chan struct{})
		reads := &hangingReader{hangs: hangs}
		o, end := c.run(Config{Leases: reads, OnChange: func(*View, Change) { <-hangs }})
		c.pass(60*time.Second, "a-0", "a-1", "a-2", "b-0")
		c.pass(30*time.Second, "a-0", "a-1", "b-0") // it is being read
		require.NoError(t, c.CoreV1().Nodes().Delete(t.Context(), "b-0", metav1.DeleteOptions{}))
		c.pass(10*time.Second, "a-0", "a-1")
		_, known := o.View().Zone(":\x00:b")
		require.False(t, known)
		close(hangs)
		require.NoError(t, end())
	})
}

type hangingReader struct{ hangs chan struct{} }

func (r *hangingReader) List(context.Context, metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	<-r.hangs
	return &coordinationv1.LeaseList{}, nil
}

func TestPanicOfTheCallbackEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "a-0")
		_, end := c.run(Config{OnChange: func(*View, Change) { panic("told") }})
		require.ErrorIs(t, end(), timedqueue.ErrPanic)
	})
}

// H10: any number of goroutines read a View while it changes.
func TestH10ConcurrentReaders(t *testing.T) {
	names := namesOf(60)
	w := newWorld(t, TrackerConfig{}, names...)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := names[i%len(names)]
				w.View().Silent(name)
				if status, known := w.View().ZoneOf(name); known {
					w.View().Zone(status.Zone)
				}
				for range w.View().SilentNodes() {
					w.View().Phase()
				}
			}
		})
	}
	for i := range 5 {
		w.pass(15*time.Second, names[i*10:]...)
		w.ForgetNode(w.now, names[i])
		w.ObserveNode(w.now, nodeOf(names[i], corev1.ConditionTrue))
	}
	close(stop)
	readers.Wait()
}
