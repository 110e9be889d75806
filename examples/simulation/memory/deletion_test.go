package memory

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func (s subject) deletePod(name string, options metav1.DeleteOptions) {
	s.t.Helper()
	must(s.t, s.client.CoreV1().Pods(s.ns).Delete(s.ctx, name, options))
}

func (s subject) wantNoPod(name string) {
	s.t.Helper()
	_, err := s.client.CoreV1().Pods(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	wantCode(s.t, "pod "+name, err, http.StatusNotFound)
}

func TestPodOnNodeStaysTerminatingUntilForced(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := s.createPod("p", "n")
		w := s.watchPods(metav1.ListOptions{ResourceVersion: pod.ResourceVersion})
		before := time.Now()
		s.deletePod("p", metav1.DeleteOptions{})
		marked := s.nextPod(w, watch.Modified)
		equal(t, "version", marked.ResourceVersion, s.getPod("p").ResourceVersion)
		equal(t, "grace period", *marked.DeletionGracePeriodSeconds, 30)
		equal(t, "generation", marked.Generation, 2)
		if left := marked.DeletionTimestamp.Sub(before); left < 28*time.Second || left > 33*time.Second {
			t.Errorf("the pod ends in %v, want 30 s", left)
		}

		s.deletePod("p", metav1.DeleteOptions{})
		s.deletePod("p", *metav1.NewDeleteOptions(60))
		equal(t, "version after more deletes", s.getPod("p").ResourceVersion, marked.ResourceVersion)

		s.deletePod("p", *metav1.NewDeleteOptions(10))
		shorter := s.nextPod(w, watch.Modified)
		equal(t, "shorter grace period", *shorter.DeletionGracePeriodSeconds, 10)
		equal(t, "shorter by", marked.DeletionTimestamp.Sub(shorter.DeletionTimestamp.Time), 20*time.Second)
		equal(t, "generation after the second delete", shorter.Generation, 2)

		s.deletePod("p", *metav1.NewDeleteOptions(0))
		last := s.nextPod(w, watch.Modified)
		equal(t, "last grace period", *last.DeletionGracePeriodSeconds, 0)
		gone := s.nextPod(w, watch.Deleted)
		equal(t, "grace period of the deleted pod", *gone.DeletionGracePeriodSeconds, 0)
		if version(t, gone) <= version(t, last) {
			t.Errorf("the deletion has the version %s, want a newer one than %s", gone.ResourceVersion, last.ResourceVersion)
		}
		s.wantNoPod("p")
	})
}

func TestPodWithNothingToStopIsGoneAtOnce(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		s.createPod("unbound", "")
		s.createPod("failed", "n")
		_, err := s.patchPod("failed", mergePatch, `{"status":{"phase":"Failed"}}`, "status")
		must(t, err)
		s.createPod("forced", "n")
		s.deletePod("unbound", metav1.DeleteOptions{})
		s.deletePod("failed", metav1.DeleteOptions{})
		s.deletePod("forced", *metav1.NewDeleteOptions(0))
		for _, name := range []string{"unbound", "failed", "forced"} {
			s.wantNoPod(name)
		}
		s.createPod("negative", "n")
		s.deletePod("negative", *metav1.NewDeleteOptions(-5))
		equal(t, "a negative grace period", *s.getPod("negative").DeletionGracePeriodSeconds, 1)
	})
}

func TestDeletePreconditions(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := s.createPod("p", "n")
		api := s.client.CoreV1().Pods(s.ns)
		foreign := metav1.NewPreconditionDeleteOptions("other")
		wantCode(t, "another UID", api.Delete(s.ctx, "p", *foreign), http.StatusConflict)
		old := pod.ResourceVersion
		stale := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &old}}
		_, err := s.patchPod("p", mergePatch, `{"metadata":{"labels":{"a":"1"}}}`)
		must(t, err)
		err = api.Delete(s.ctx, "p", stale)
		wantCode(t, "an old version", err, http.StatusConflict)
		if !apierrors.IsConflict(err) || s.getPod("p").DeletionTimestamp != nil {
			t.Errorf("got %v, want a conflict and the pod untouched", err)
		}
		s.deletePod("p", *metav1.NewPreconditionDeleteOptions(string(pod.UID)))
		s.createPod("q", "")
		current := s.getPod("q").ResourceVersion
		s.deletePod("q", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &current}})
		s.wantNoPod("q")

		node := s.createNode()
		err = s.client.CoreV1().Nodes().Delete(s.ctx, node.Name, *foreign)
		wantCode(t, "a node of another UID", err, http.StatusConflict)
	})
}

func TestRecreatedPodIsAnother(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		first := s.createPod("p", "n")
		s.deletePod("p", *metav1.NewDeleteOptions(0))
		second := s.createPod("p", "n")
		if first.UID == second.UID {
			t.Fatal("the recreated pod has the UID of the first")
		}
		err := s.client.CoreV1().Pods(s.ns).Delete(s.ctx, "p", *metav1.NewPreconditionDeleteOptions(string(first.UID)))
		wantCode(t, "a delete of the first", err, http.StatusConflict)
		equal(t, "UID", s.getPod("p").UID, second.UID)
	})
}

func TestFinalizerHoldsTheObject(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := podNamed("p", "n")
		pod.Finalizers = []string{"example.com/hold"}
		s.create(pod)
		s.deletePod("p", *metav1.NewDeleteOptions(0))
		held := s.getPod("p")
		equal(t, "grace period", *held.DeletionGracePeriodSeconds, 0)
		s.deletePod("p", *metav1.NewDeleteOptions(0))
		equal(t, "version after a second delete", s.getPod("p").ResourceVersion, held.ResourceVersion)
		w := s.watchPods(metav1.ListOptions{ResourceVersion: held.ResourceVersion})
		_, err := s.patchPod("p", mergePatch, `{"metadata":{"finalizers":null}}`)
		must(t, err)
		s.nextPod(w, watch.Deleted)
		s.wantNoPod("p")

		node := s.createNode()
		s.patchNode(node.Name, mergePatch, `{"metadata":{"finalizers":["example.com/hold"]}}`)
		must(t, s.client.CoreV1().Nodes().Delete(s.ctx, node.Name, metav1.DeleteOptions{}))
		if s.getNode(node.Name).DeletionTimestamp == nil {
			t.Error("the node is not marked as terminating")
		}
		s.patchNode(node.Name, mergePatch, `{"metadata":{"finalizers":null}}`)
		_, err = s.client.CoreV1().Nodes().Get(s.ctx, node.Name, metav1.GetOptions{})
		wantCode(t, "the finalized node", err, http.StatusNotFound)
	})
}

func TestDeleteCollection(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		for name, label := range map[string]string{"a": "x", "b": "x", "c": "y"} {
			pod := podNamed(name, "")
			pod.Labels = map[string]string{"app": label}
			s.create(pod)
		}
		err := s.client.CoreV1().Pods(s.ns).DeleteCollection(s.ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: "app=x"})
		must(t, err)
		list, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 1 || list.Items[0].Name != "c" {
			t.Errorf("%d pods are left, want c alone", len(list.Items))
		}
	})
}

// The rest of a period that has passed is one second.
func TestShorteningAfterTheEndIsNotInThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(t, NewCluster())
		s.createPod("p", "n")
		s.deletePod("p", metav1.DeleteOptions{})
		time.Sleep(time.Minute) // the bubble's clock
		s.deletePod("p", *metav1.NewDeleteOptions(10))
		pod := s.getPod("p")
		equal(t, "grace period", *pod.DeletionGracePeriodSeconds, 1)
		equal(t, "end", pod.DeletionTimestamp.Unix(), time.Now().Unix())
	})
}
