package memory

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// listWatchOnly makes informers use a list and a watch instead of a streaming
// list, by the method that client-go asks for.
type listWatchOnly struct{ kubernetes.Interface }

func (listWatchOnly) IsWatchListSemanticsUnSupported() bool { return true }

// seen collects the versions that an informer reports per object.
type seen struct {
	mu       sync.Mutex
	versions map[string][]string
	total    int
	want     int
	all      chan struct{}
}

func newSeen(want int) *seen {
	return &seen{versions: map[string][]string{}, want: want, all: make(chan struct{})}
}

func (s *seen) add(object any) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions[node.Name] = append(s.versions[node.Name], node.ResourceVersion)
	s.total++
	if s.total == s.want {
		close(s.all)
	}
}

func (s *seen) wait(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-s.all:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Fatalf("the informer has reported %d changes, want %d: %v", s.total, s.want, ctx.Err())
	}
}

// startInformers runs shared informers for what the controllers watch until the
// test ends.
func startInformers(ctx context.Context, t *testing.T, client kubernetes.Interface,
	nodes cache.ResourceEventHandler) informers.SharedInformerFactory {
	t.Helper()
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(nodes)
	must(t, err)
	factory.Core().V1().Pods().Informer()
	factory.Coordination().V1().Leases().Informer()
	factory.Core().V1().Namespaces().Informer()
	factory.Apps().V1().DaemonSets().Informer()
	run(ctx, t, factory)
	return factory
}

func run(ctx context.Context, t *testing.T, factory informers.SharedInformerFactory) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("the informer of %v has not synced", kind)
		}
	}
}

func TestInformersSeeEveryChangeOfABurst(t *testing.T) {
	for name, front := range map[string]func(kubernetes.Interface) kubernetes.Interface{
		"streaming list": func(client kubernetes.Interface) kubernetes.Interface { return client },
		"list and watch": func(client kubernetes.Interface) kubernetes.Interface { return listWatchOnly{client} },
	} {
		t.Run(name, func(t *testing.T) {
			cluster := NewCluster()
			s := newSubject(t, cluster)
			names := createNodes(s, 50)
			const writers, patches = 5, 1000
			reported := newSeen(writers * patches)
			client := cluster.NewClient()
			factory := startInformers(s.ctx, t, front(client), cache.ResourceEventHandlerFuncs{
				UpdateFunc: func(_, object any) { reported.add(object) },
			})
			lists := client.Requests()[Request{Verb: "list", Resource: "nodes"}]
			equal(t, "uses a list", lists > 0, name == "list and watch")

			written := burst(s, names, writers, patches)
			reported.wait(s.ctx, t)
			reported.mu.Lock()
			defer reported.mu.Unlock()
			for node, versions := range written {
				equal(t, "versions of "+node, fmt.Sprint(reported.versions[node]), fmt.Sprint(versions))
			}
			cached, err := factory.Core().V1().Nodes().Lister().List(labels.Everything())
			must(t, err)
			equal(t, "nodes in the cache", len(cached), len(names))
		})
	}
}

func createNodes(s subject, n int) []string {
	s.t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%02d", i)
		_, err := s.client.CoreV1().Nodes().Create(s.ctx,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}, metav1.CreateOptions{})
		must(s.t, err)
	}
	return names
}

// burst patches nodes from several goroutines, each its own share of the nodes,
// and returns the versions that every node has gone through.
func burst(s subject, names []string, writers, patches int) map[string][]string {
	s.t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	written := map[string][]string{}
	for w := range writers {
		wg.Go(func() {
			for i := range patches {
				name := names[(i*writers+w)%len(names)]
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, i)
				node, err := s.client.CoreV1().Nodes().Patch(s.ctx, name, mergePatch, []byte(patch), metav1.PatchOptions{})
				if err != nil {
					s.t.Error(err)
					return
				}
				mu.Lock()
				written[name] = append(written[name], node.ResourceVersion)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return written
}

// The race between a list and the watch after it, which the fake's own tracker
// has: nodes are created while informers start.
func TestNothingFallsBetweenListAndWatch(t *testing.T) {
	for name, front := range map[string]func(kubernetes.Interface) kubernetes.Interface{
		"streaming list": func(client kubernetes.Interface) kubernetes.Interface { return client },
		"list and watch": func(client kubernetes.Interface) kubernetes.Interface { return listWatchOnly{client} },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				s := newSubject(t, NewCluster())
				reported := newSeen(50)
				var wg sync.WaitGroup
				wg.Go(func() { createNodes(s, 50) })
				startInformers(s.ctx, t, front(s.client), cache.ResourceEventHandlerFuncs{AddFunc: reported.add})
				wg.Wait()
				reported.wait(s.ctx, t)
			}
		})
	}
}

// A reflector whose watch ends waits a little and lists again, so that it may
// skip states, but ends with the last.
func TestInformersSurviveDroppedWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := NewCluster()
		s := newSubject(t, cluster)
		s.ctx = t.Context() // the clock of the bubble runs past any deadline
		names := createNodes(s, 10)
		nodes := startInformers(s.ctx, t, cluster, cache.ResourceEventHandlerFuncs{}).Core().V1().Nodes().Lister()
		before := cluster.Requests()[Request{Verb: "watch", Resource: "nodes"}]
		for round := range 3 {
			cluster.DropWatches()
			for _, name := range names {
				s.patchNode(name, mergePatch, fmt.Sprintf(`{"metadata":{"annotations":{"round":"%d"}}}`, round))
			}
			time.Sleep(time.Minute) // the bubble's clock
			for _, name := range names {
				node, err := nodes.Get(name)
				must(t, err)
				equal(t, "round in the cache", node.Annotations["round"], fmt.Sprint(round))
			}
		}
		if after := cluster.Requests()[Request{Verb: "watch", Resource: "nodes"}]; after < before+3 {
			t.Errorf("%d watches before and %d after the drops, want new ones", before, after)
		}
	})
}

// An informer that falls behind what is kept is told so and lists again.
func TestInformersSurviveForgottenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newCluster(apiserver.Limits{History: 50, Events: 10})
		s := newSubject(t, cluster)
		s.ctx = t.Context()
		names := createNodes(s, 10)
		slow := make(chan struct{})
		factory := informers.NewSharedInformerFactoryWithOptions(cluster, 0,
			informers.WithTransform(func(object any) (any, error) {
				if node, ok := object.(*corev1.Node); ok && node.Annotations["n"] != "" {
					<-slow // the first change of the burst stops the reflector
				}
				return object, nil
			}))
		nodes := factory.Core().V1().Nodes().Lister()
		run(s.ctx, t, factory)
		before := cluster.Requests()[Request{Verb: "watch", Resource: "nodes"}]
		burst(s, names, 2, 500)
		close(slow)
		time.Sleep(5 * time.Minute) // the bubble's clock: the reflector waits before it lists
		if after := cluster.Requests()[Request{Verb: "watch", Resource: "nodes"}]; after <= before {
			t.Error("the informer has not been told that it fell behind")
		}
		for _, name := range names {
			node, err := nodes.Get(name)
			must(t, err)
			equal(t, "version in the cache", node.ResourceVersion, s.getNode(name).ResourceVersion)
		}
	})
}
