package memory

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	eventrecord "k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

func TestRequestsAreCountedPerClient(t *testing.T) {
	cluster := NewCluster()
	s := newSubject(t, cluster)
	fleet := cluster.NewClient()
	node, err := fleet.CoreV1().Nodes().Create(s.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		metav1.CreateOptions{})
	must(t, err)
	_, err = fleet.CoreV1().Nodes().UpdateStatus(s.ctx, node, metav1.UpdateOptions{})
	must(t, err)
	_, err = fleet.CoreV1().Nodes().Get(s.ctx, "none", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	s.createPod("p", "")
	must(t, s.bind("p", "n"))
	s.watchPods(metav1.ListOptions{})

	want := map[string]int{"create nodes": 1, "update nodes/status": 1, "get nodes": 1}
	equal(t, "the fleet's requests", requests(fleet), fmt.Sprint(want))
	want = map[string]int{"create namespaces": 1, "create serviceaccounts": 1, "create pods": 1, "create pods/binding": 1,
		"watch pods": 1}
	equal(t, "the cluster's own requests", requests(cluster.Client), fmt.Sprint(want))

	counts := fleet.Requests()
	counts[Request{Verb: "get", Resource: "nodes"}] = 100
	equal(t, "a changed copy", fleet.Requests()[Request{Verb: "get", Resource: "nodes"}], 1)
}

func requests(c *Client) string {
	counts := map[string]int{}
	for request, n := range c.Requests() {
		counts[request.String()] = n
	}
	return fmt.Sprint(counts)
}

// client-go's fake keeps every action; a long test must not grow with them.
func TestActionsDoNotPileUp(t *testing.T) {
	cluster := NewCluster()
	s := newSubject(t, cluster)
	s.createPod("p", "")
	for range 1000 {
		s.getPod("p")
	}
	f, ok := cluster.Interface.(*fake.Clientset)
	if !ok {
		t.Fatalf("the client is %T", cluster.Interface)
	}
	if n := len(f.Actions()); n > 1 {
		t.Errorf("%d actions are kept, want at most the last", n)
	}
}

func TestEventsAreBounded(t *testing.T) {
	const limit = 100
	cluster := newCluster(apiserver.Limits{History: 1000, Events: limit})
	s := newSubject(t, cluster)
	api := s.client.CoreV1().Events(s.ns)
	w, err := api.Watch(s.ctx, metav1.ListOptions{})
	must(t, err)
	defer w.Stop()
	for i := range limit + 5 {
		_, err := api.CreateWithEventNamespaceWithContext(s.ctx, eventNamed(fmt.Sprintf("e%03d", i), s.ns))
		must(t, err)
	}
	list, err := api.List(s.ctx, metav1.ListOptions{})
	must(t, err)
	equal(t, "events kept", len(list.Items), limit)
	equal(t, "the oldest one kept", list.Items[0].Name, "e005")
	for i := range limit {
		equal(t, fmt.Sprint("change ", i), s.next(w).Type, watch.Added)
	}
	s.next(w)
	expired := s.next(w)
	event, ok := expired.Object.(*corev1.Event)
	if expired.Type != watch.Deleted || !ok || event.Name != "e000" {
		t.Errorf("got %s of %+v, want the deletion of e000", expired.Type, expired.Object)
	}

	// A deleted event leaves a slot that must not count against its successor.
	must(t, api.Delete(s.ctx, "e005", metav1.DeleteOptions{}))
	_, err = api.Create(s.ctx, eventNamed("e005", s.ns), metav1.CreateOptions{})
	must(t, err)
	_, err = api.Create(s.ctx, eventNamed("e900", s.ns), metav1.CreateOptions{})
	must(t, err)
	_, err = api.Get(s.ctx, "e005", metav1.GetOptions{})
	must(t, err)
}

func eventNamed(name, namespace string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "p"},
		Reason:         "Test",
	}
}

func TestRecorderWritesEvents(t *testing.T) {
	s := newSubject(t, NewCluster())
	w, err := s.client.CoreV1().Events(metav1.NamespaceDefault).
		Watch(s.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Node"})
	must(t, err)
	defer w.Stop()
	broadcaster := eventrecord.NewBroadcaster(eventrecord.WithContext(s.ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: s.client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "test"})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}
	recorder.Event(node, corev1.EventTypeNormal, "NodeNotReady", "first")
	recorder.Event(node, corev1.EventTypeNormal, "NodeNotReady", "first") // counted by a patch
	equal(t, "first", s.next(w).Type, watch.Added)
	again := s.next(w)
	event, ok := again.Object.(*corev1.Event)
	if again.Type != watch.Modified || !ok || event.Count != 2 {
		t.Errorf("got %s of %+v, want the count 2", again.Type, again.Object)
	}
}

// Read, add one, write if no other client has: no increment may be lost.
func TestConcurrentGuardedWritesLoseNothing(t *testing.T) {
	guards := map[string]func(pod *corev1.Pod, n int) (types.PatchType, string){
		"resourceVersion": func(pod *corev1.Pod, n int) (types.PatchType, string) {
			return mergePatch,
				fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"n":"%d"}}}`, pod.ResourceVersion, n)
		},
		"JSON patch test": func(pod *corev1.Pod, n int) (types.PatchType, string) {
			return operationsPatch, fmt.Sprintf(
				`[{"op":"test","path":"/metadata/annotations/n","value":%q},`+
					`{"op":"replace","path":"/metadata/annotations/n","value":"%d"}]`,
				pod.Annotations["n"], n)
		},
	}
	for name, guard := range guards {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, NewCluster())
			pod := podNamed("p", "")
			pod.Annotations = map[string]string{"n": "0"}
			s.create(pod)
			const workers, increments = 4, 100
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for range increments {
						s.increment(guard)
					}
				})
			}
			wg.Wait()
			equal(t, "sum", s.getPod("p").Annotations["n"], fmt.Sprint(workers*increments))
		})
	}
}

// An update without a resourceVersion is meant to win against whatever it
// meets.
func TestConcurrentUnconditionalUpdatesNeverConflict(t *testing.T) {
	s := newSubject(t, NewCluster())
	s.createPod("p", "")
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				pod := podNamed("p", "")
				pod.Spec.TerminationGracePeriodSeconds = new(int64)
				pod.Labels = map[string]string{"by": fmt.Sprintf("%d-%d", w, i)}
				if _, err := s.client.CoreV1().Pods(s.ns).Update(s.ctx, pod, metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func (s subject) increment(guard func(pod *corev1.Pod, n int) (types.PatchType, string)) {
	for s.ctx.Err() == nil {
		pod, err := s.client.CoreV1().Pods(s.ns).Get(s.ctx, "p", metav1.GetOptions{})
		if err != nil {
			s.t.Error(err)
			return
		}
		n, err := strconv.Atoi(pod.Annotations["n"])
		if err != nil {
			s.t.Error(err)
			return
		}
		kind, patch := guard(pod, n+1)
		_, err = s.patchPod("p", kind, patch)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
			s.t.Error(err)
			return
		}
	}
}

// Patches without a guard are computed again when another write comes between,
// so that those of different fields all take effect.
func TestConcurrentPatchesOfDifferentFieldsAllApply(t *testing.T) {
	s := newSubject(t, NewCluster())
	s.createPod("p", "")
	var wg sync.WaitGroup
	const workers, patches = 4, 100
	for w := range workers {
		wg.Go(func() {
			for i := range patches {
				if _, err := s.patchPod("p", mergePatch,
					fmt.Sprintf(`{"metadata":{"annotations":{"%d-%d":"x"}}}`, w, i)); err != nil {
					s.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	equal(t, "annotations", len(s.getPod("p").Annotations), workers*patches)
}
