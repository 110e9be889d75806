package memory

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

func (s subject) label(name, value string) *corev1.Pod {
	s.t.Helper()
	pod, err := s.patchPod(name, mergePatch, fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, value))
	must(s.t, err)
	return pod
}

func TestWatchContinuesFromAnyVersion(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		first := s.createPod("p", "")
		list, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
		must(t, err)
		s.createLease("between") // another resource's write is none of this watch's
		second := s.label("p", "x")
		s.deletePod("p", metav1.DeleteOptions{})

		w := s.watchPods(metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		equal(t, "after the list", s.nextPod(w, watch.Modified).ResourceVersion, second.ResourceVersion)
		s.nextPod(w, watch.Modified) // marked with the grace period zero
		s.nextPod(w, watch.Deleted)

		w = s.watchPods(metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		equal(t, "after the creation", s.nextPod(w, watch.Modified).ResourceVersion, second.ResourceVersion)
		w = s.watchPods(metav1.ListOptions{ResourceVersion: second.ResourceVersion})
		equal(t, "after the patch", s.nextPod(w, watch.Modified).Labels["app"], "x")
		s.nextPod(w, watch.Deleted)
		again := s.createPod("p", "")
		equal(t, "live", s.nextPod(w, watch.Added).UID, again.UID)
	})
}

func TestWatchWithoutVersionBeginsWithWhatThereIs(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		s.createPod("a", "")
		s.createPod("b", "")
		s.label("a", "x")
		w := s.watchPods(metav1.ListOptions{})
		names := map[string]string{}
		for range 2 {
			pod := s.nextPod(w, watch.Added)
			names[pod.Name] = pod.Labels["app"]
		}
		equal(t, "what there is", fmt.Sprint(names), "map[a:x b:]")
		s.label("b", "y")
		equal(t, "next", s.nextPod(w, watch.Modified).Labels["app"], "y")
	})
}

func TestStreamingListEndsInBookmark(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		yes, no := true, false
		options := metav1.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}
		bookmark := s.nextPod(s.watchPods(options), watch.Bookmark)
		equal(t, "bookmark of no pods", bookmark.Annotations[metav1.InitialEventsAnnotationKey], "true")

		last := s.createPod("p", "")
		w := s.watchPods(options)
		equal(t, "pod", s.nextPod(w, watch.Added).Name, "p")
		bookmark = s.nextPod(w, watch.Bookmark)
		equal(t, "bookmark", bookmark.Annotations[metav1.InitialEventsAnnotationKey], "true")
		if version(t, bookmark) < version(t, last) {
			t.Errorf("the bookmark has the version %s, older than what came before it", bookmark.ResourceVersion)
		}
		s.label("p", "x")
		s.nextPod(w, watch.Modified)

		options.ResourceVersionMatch = ""
		if _, err := s.client.CoreV1().Pods(s.ns).Watch(s.ctx, options); err == nil {
			t.Error("initial events without resourceVersionMatch are accepted")
		}
		options.SendInitialEvents, options.ResourceVersionMatch = &no, metav1.ResourceVersionMatchNotOlderThan
		w = s.watchPods(options)
		s.label("p", "y")
		equal(t, "without initial events", s.nextPod(w, watch.Modified).Labels["app"], "y")
	})
}

func TestSelectors(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		api := s.client.CoreV1().Pods(s.ns)
		s.createPod("p", "")
		s.createPod("q", "n")
		labelled := s.watchPods(metav1.ListOptions{LabelSelector: "app=x"})
		onNode := s.watchPods(metav1.ListOptions{FieldSelector: "spec.nodeName=n"})
		equal(t, "on the node", s.nextPod(onNode, watch.Added).Name, "q")

		s.label("p", "x")
		equal(t, "comes to match", s.nextPod(labelled, watch.Added).Name, "p")
		must(t, s.bind("p", "n"))
		equal(t, "still matches", s.nextPod(labelled, watch.Modified).Spec.NodeName, "n")
		equal(t, "is bound", s.nextPod(onNode, watch.Added).Name, "p")
		list, err := api.List(s.ctx, metav1.ListOptions{LabelSelector: "app=x", FieldSelector: "spec.nodeName=n"})
		must(t, err)
		equal(t, "listed", len(list.Items), 1)

		changed := s.label("p", "y")
		left := s.nextPod(labelled, watch.Deleted)
		equal(t, "state when it left", left.Labels["app"], "x")
		equal(t, "version when it left", left.ResourceVersion, changed.ResourceVersion)
		s.nextPod(onNode, watch.Modified)
		s.deletePod("p", *metav1.NewDeleteOptions(0))
		s.nextPod(onNode, watch.Modified)
		s.nextPod(onNode, watch.Deleted)
		s.label("q", "x")
		equal(t, "next of the labelled", s.nextPod(labelled, watch.Added).Name, "q")

		_, err = api.List(s.ctx, metav1.ListOptions{FieldSelector: "spec.priority=1"})
		wantCode(t, "list by a field that is not offered", err, http.StatusBadRequest)
		_, err = api.Watch(s.ctx, metav1.ListOptions{FieldSelector: "spec.priority=1"})
		wantCode(t, "watch by a field that is not offered", err, http.StatusBadRequest)
	})
}

func TestListIsOrderedAndOfOneNamespace(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		other := newSubject(t, s.client)
		other.createPod("x", "")
		for _, name := range []string{"b", "c", "a"} {
			s.createPod(name, "")
		}
		list, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
		must(t, err)
		names := ""
		for _, pod := range list.Items {
			names += pod.Name
		}
		equal(t, "names", names, "abc")
		w := s.watchPods(metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		other.createPod("y", "")
		s.createPod("d", "")
		equal(t, "watched", s.nextPod(w, watch.Added).Name, "d")
		all, err := s.client.CoreV1().Pods("").List(s.ctx, metav1.ListOptions{FieldSelector: "metadata.name=x"})
		must(t, err)
		equal(t, "in all namespaces", len(all.Items) > 0, true)
	})
}

func TestForgottenVersionIsGone(t *testing.T) {
	s := newSubject(t, newCluster(apiserver.Limits{History: 10, Events: 10}))
	first := s.createPod("p", "")
	for i := range 20 {
		s.label("p", fmt.Sprint(i))
	}
	event := s.next(s.watchPods(metav1.ListOptions{ResourceVersion: first.ResourceVersion}))
	status, ok := event.Object.(*metav1.Status)
	if event.Type != watch.Error || !ok || status.Code != http.StatusGone || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("got %s %+v, want the error 410 Expired", event.Type, event.Object)
	}
	w := s.watchPods(metav1.ListOptions{ResourceVersion: s.getPod("p").ResourceVersion})
	s.label("p", "last")
	equal(t, "from the newest version", s.nextPod(w, watch.Modified).Labels["app"], "last")
}

func TestFutureVersionIsTooLarge(t *testing.T) {
	s := newSubject(t, NewCluster())
	future := metav1.ListOptions{ResourceVersion: "1000000"}
	_, err := s.client.CoreV1().Pods(s.ns).Watch(s.ctx, future)
	wantCode(t, "watch", err, http.StatusGatewayTimeout)
	_, err = s.client.CoreV1().Pods(s.ns).List(s.ctx, future)
	wantCode(t, "list", err, http.StatusGatewayTimeout)
}

// A watcher that does not read costs writers nothing, and is told that it has
// lost the thread once what it should read is forgotten.
func TestWatcherThatDoesNotReadBlocksNothing(t *testing.T) {
	s := newSubject(t, newCluster(apiserver.Limits{History: 100, Events: 10}))
	s.createPod("p", "")
	idle := s.watchPods(metav1.ListOptions{})
	const writes = 3000
	for i := range writes {
		s.label("p", fmt.Sprint(i))
	}
	equal(t, "the writes", s.getPod("p").Labels["app"], fmt.Sprint(writes-1))
	seen := 0
	for {
		event := s.next(idle)
		if event.Type == watch.Error {
			break
		}
		seen++
	}
	if seen >= writes {
		t.Errorf("the idle watcher has seen %d events, want it to lose some", seen)
	}
	if _, open := <-idle.ResultChan(); open {
		t.Error("the watch goes on after the error")
	}
}

// synctest fails when a goroutine is left behind.
func TestWatchEndsByStopOrTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(t, NewCluster())
		for i := range 100 {
			s.createPod(fmt.Sprint("p", i), "")
		}
		api := s.client.CoreV1().Pods(s.ns)
		unread, err := api.Watch(s.ctx, metav1.ListOptions{}) // blocks in sending
		must(t, err)
		quiet, err := api.Watch(s.ctx, metav1.ListOptions{ResourceVersion: s.getPod("p99").ResourceVersion})
		must(t, err)
		seconds := int64(20)
		begun := time.Now()
		timed, err := api.Watch(s.ctx,
			metav1.ListOptions{TimeoutSeconds: &seconds, ResourceVersion: s.getPod("p99").ResourceVersion})
		must(t, err)
		synctest.Wait()
		for _, w := range []watch.Interface{unread, quiet} {
			w.Stop()
			w.Stop()
		}
		for range unread.ResultChan() {
			continue // what was sent before the end may be read, then the channel is closed
		}
		if _, open := <-quiet.ResultChan(); open {
			t.Error("the stopped watch is open")
		}
		if _, open := <-timed.ResultChan(); open {
			t.Error("the watch sends at its timeout")
		}
		equal(t, "timeout", time.Since(begun), 20*time.Second)
	})
}
