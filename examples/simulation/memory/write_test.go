package memory

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func version(t *testing.T, object metav1.Object) int64 {
	t.Helper()
	v, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	must(t, err)
	return v
}

func TestCreateGivesIdentity(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := podNamed("", "n")
		pod.GenerateName = "web-"
		pod.UID, pod.Generation = "mine", 7
		pod.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
		pod.Status.Phase = corev1.PodRunning
		a, b := s.create(pod), s.create(pod)

		if a.UID == "" || a.UID == "mine" || a.UID == b.UID {
			t.Errorf("UIDs %q and %q, want two of the server's", a.UID, b.UID)
		}
		if len(a.Name) != len("web-")+5 || !strings.HasPrefix(a.Name, "web-") || a.Name == b.Name {
			t.Errorf("names %q and %q, want web- and five characters", a.Name, b.Name)
		}
		if age := time.Since(a.CreationTimestamp.Time); age < -time.Second || age > time.Minute {
			t.Errorf("created %v ago, want now", age)
		}
		equal(t, "nanoseconds of the creation", a.CreationTimestamp.Nanosecond(), 0)
		equal(t, "generation", a.Generation, 1)
		equal(t, "phase", a.Status.Phase, corev1.PodPending)
		equal(t, "grace period", *a.Spec.TerminationGracePeriodSeconds, 30)
		equal(t, "namespace", a.Namespace, s.ns)
		equal(t, "generation of a node", s.createNode().Generation, 0)
		equal(t, "generation of a lease", s.createLease("l").Generation, 0)
	})
}

func TestCreateRefusals(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := s.createPod("p", "")
		api := s.client.CoreV1().Pods(s.ns)
		_, err := api.Create(s.ctx, podNamed("p", ""), metav1.CreateOptions{})
		wantCode(t, "a second pod of the name", err, http.StatusConflict)
		pod.Name = "q"
		_, err = api.Create(s.ctx, pod, metav1.CreateOptions{})
		wantCode(t, "with a resourceVersion", err, http.StatusInternalServerError)
		_, err = api.Create(s.ctx, podNamed("", ""), metav1.CreateOptions{})
		wantCode(t, "without a name", err, http.StatusUnprocessableEntity)
		pod = podNamed("r", "")
		pod.Namespace = "other"
		_, err = api.Create(s.ctx, pod, metav1.CreateOptions{})
		wantCode(t, "in another namespace", err, http.StatusBadRequest)
	})
}

func TestMissingObjectsAreNotFound(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		api := s.client.CoreV1().Pods(s.ns)
		_, err := api.Get(s.ctx, "p", metav1.GetOptions{})
		wantCode(t, "get", err, http.StatusNotFound)
		_, err = api.Update(s.ctx, podNamed("p", ""), metav1.UpdateOptions{})
		wantCode(t, "update", err, http.StatusNotFound)
		_, err = s.patchPod("p", mergePatch, `{}`)
		wantCode(t, "patch", err, http.StatusNotFound)
		wantCode(t, "delete", api.Delete(s.ctx, "p", metav1.DeleteOptions{}), http.StatusNotFound)
		wantCode(t, "bind", s.bind("p", "n"), http.StatusNotFound)
	})
}

func TestOneVersionCounterOverAllObjects(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		node := s.createNode()
		pod := s.createPod("p", node.Name)
		lease := s.createLease("l")
		patched := s.patchNode(node.Name, mergePatch, `{"metadata":{"labels":{"a":"1"}}}`)
		order := []int64{version(t, node), version(t, pod), version(t, lease), version(t, patched)}
		for i := 1; i < len(order); i++ {
			if order[i] <= order[i-1] {
				t.Fatalf("versions %v, want them increasing", order)
			}
		}
		list, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
		must(t, err)
		if got := version(t, &metav1.ObjectMeta{ResourceVersion: list.ResourceVersion}); got < order[3] {
			t.Errorf("a list of pods has the version %d, older than the last write, %d", got, order[3])
		}
	})
}

func TestStaleUpdateConflicts(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		stale := s.createPod("p", "")
		fresh := stale.DeepCopy()
		fresh.Labels = map[string]string{"a": "1"}
		api := s.client.CoreV1().Pods(s.ns)
		_, err := api.Update(s.ctx, fresh, metav1.UpdateOptions{})
		must(t, err)
		stale.Labels = map[string]string{"a": "2"}
		_, err = api.Update(s.ctx, stale, metav1.UpdateOptions{})
		wantCode(t, "update", err, http.StatusConflict)
		stale.Status.Phase = corev1.PodFailed
		_, err = api.UpdateStatus(s.ctx, stale, metav1.UpdateOptions{})
		wantCode(t, "status update", err, http.StatusConflict)
		stale.ResourceVersion, stale.UID = "", "other"
		_, err = api.Update(s.ctx, stale, metav1.UpdateOptions{})
		wantCode(t, "update with a foreign UID", err, http.StatusConflict)
		equal(t, "label", s.getPod("p").Labels["a"], "1")

		stale.UID = ""
		_, err = api.Update(s.ctx, stale, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "label after an unconditional update", s.getPod("p").Labels["a"], "2")
	})
}

func TestSpecAndStatusAreWrittenApart(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		node := s.createNode()
		both := `{"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
		node = s.patchNode(node.Name, strategicPatch, both, "status")
		equal(t, "spec after a patch of the status", node.Spec.Unschedulable, false)
		equal(t, "status after a patch of the status", len(node.Status.Conditions), 1)

		node.Status.Conditions, node.Spec.Unschedulable = nil, true
		node, err := s.client.CoreV1().Nodes().Update(s.ctx, node, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "spec after an update", node.Spec.Unschedulable, true)
		equal(t, "status after an update", len(node.Status.Conditions), 1)

		node.Status.Conditions, node.Spec.Unschedulable = nil, false
		node, err = s.client.CoreV1().Nodes().UpdateStatus(s.ctx, node, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "spec after an update of the status", node.Spec.Unschedulable, true)
		equal(t, "status after an update of the status", len(node.Status.Conditions), 0)

		node = s.patchNode(node.Name, strategicPatch, both)
		equal(t, "status after a patch", len(node.Status.Conditions), 0)
	})
}

func TestNodeIsRegisteredWithItsStatus(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		node, err := s.client.CoreV1().Nodes().Create(s.ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "memory-"},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}, metav1.CreateOptions{})
		must(t, err)
		equal(t, "conditions", len(node.Status.Conditions), 1)
		must(t, s.client.CoreV1().Nodes().Delete(s.ctx, node.Name, metav1.DeleteOptions{}))
		_, err = s.client.CoreV1().Nodes().Get(s.ctx, node.Name, metav1.GetOptions{})
		wantCode(t, "the deleted node", err, http.StatusNotFound)
	})
}

func TestGenerationCountsChangesOfTheSpec(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		labels := map[string]string{"app": "agent"}
		api := s.client.AppsV1().DaemonSets(s.ns)
		_, err := api.Create(s.ctx, &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: "agent"},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podNamed("", "").Spec},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		steps := []struct {
			patch       string
			subresource []string
			want        int64
		}{
			{`{"metadata":{"labels":{"a":"1"},"generation":9}}`, nil, 1},
			{`{"spec":{"minReadySeconds":5}}`, nil, 2},
			{`{"spec":{"minReadySeconds":6},"status":{"observedGeneration":2}}`, []string{"status"}, 2},
			{`{"spec":{"minReadySeconds":5}}`, nil, 2},
			{`{"spec":{"minReadySeconds":6}}`, nil, 3},
		}
		for _, step := range steps {
			set, err := api.Patch(s.ctx, "agent", mergePatch, []byte(step.patch), metav1.PatchOptions{}, step.subresource...)
			must(t, err)
			equal(t, step.patch, set.Generation, step.want)
		}
	})
}

func TestTimesAreKeptInWholeSeconds(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		node := s.createNode()
		added := metav1.NewTime(time.Unix(1_700_000_000, 999_999_999))
		node.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}}
		node, err := s.client.CoreV1().Nodes().Update(s.ctx, node, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "TimeAdded", node.Spec.Taints[0].TimeAdded.UnixNano(), time.Unix(1_700_000_000, 0).UnixNano())

		lease := s.createLease("l")
		renewed := metav1.NewMicroTime(time.Unix(1_700_000_000, 123_456_789))
		lease.Spec.RenewTime = &renewed
		lease, err = s.client.CoordinationV1().Leases(s.ns).Update(s.ctx, lease, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "RenewTime", lease.Spec.RenewTime.UnixNano(), time.Unix(1_700_000_000, 123_456_000).UnixNano())
	})
}

func TestSystemFieldsCannotBeChanged(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := s.createPod("p", "n")
		patched, err := s.patchPod("p", mergePatch,
			`{"metadata":{"creationTimestamp":"2001-01-01T00:00:00Z","labels":{"a":"1"}}}`)
		must(t, err)
		equal(t, "creation", patched.CreationTimestamp.Unix(), pod.CreationTimestamp.Unix())
		_, err = s.patchPod("p", mergePatch, `{"metadata":{"deletionTimestamp":"2001-01-01T00:00:00Z"}}`)
		wantCode(t, "a deletionTimestamp of the client's", err, http.StatusUnprocessableEntity)
	})
}

func TestLeaseUpdates(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		api := s.client.CoordinationV1().Leases(s.ns)
		lease := s.createLease("l")
		lease.ResourceVersion = ""
		_, err := api.Update(s.ctx, lease, metav1.UpdateOptions{})
		wantCode(t, "without a version", err, http.StatusUnprocessableEntity)

		lease.Name, lease.UID = "m", ""
		created, err := api.Update(s.ctx, lease, metav1.UpdateOptions{})
		must(t, err)
		if created.UID == "" || created.ResourceVersion == "" {
			t.Errorf("an update of no lease creates one, got %+v", created.ObjectMeta)
		}
		lease.Name, lease.UID = "o", types.UID("gone")
		_, err = api.Update(s.ctx, lease, metav1.UpdateOptions{})
		wantCode(t, "a lease that is gone", err, http.StatusConflict)
	})
}

func TestDryRunStoresNothing(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		api, dry := s.client.CoreV1().Pods(s.ns), []string{metav1.DryRunAll}
		_, err := api.Create(s.ctx, podNamed("p", ""), metav1.CreateOptions{DryRun: dry})
		must(t, err)
		_, err = api.Get(s.ctx, "p", metav1.GetOptions{})
		wantCode(t, "the pod of the dry run", err, http.StatusNotFound)

		pod := s.createPod("p", "n")
		_, err = api.Create(s.ctx, podNamed("p", ""), metav1.CreateOptions{DryRun: dry})
		wantCode(t, "a dry run that would fail", err, http.StatusConflict)
		patched, err := api.Patch(s.ctx, "p", mergePatch, []byte(`{"metadata":{"labels":{"a":"1"}}}`),
			metav1.PatchOptions{DryRun: dry})
		must(t, err)
		equal(t, "label in the answer", patched.Labels["a"], "1")
		must(t, api.Delete(s.ctx, "p", metav1.DeleteOptions{DryRun: dry}))
		equal(t, "version", s.getPod("p").ResourceVersion, pod.ResourceVersion)
		_, err = api.Create(s.ctx, podNamed("r", ""), metav1.CreateOptions{DryRun: []string{"some"}})
		if err == nil {
			t.Error("an unknown value of dryRun is accepted")
		}
	})
}

// What a caller does to an object that it sent or got must not reach the store.
func TestCallersOwnWhatTheyGet(t *testing.T) {
	s := newSubject(t, NewCluster())
	sent := podNamed("p", "")
	sent.Labels = map[string]string{"a": "1"}
	got := s.create(sent)
	sent.Labels["a"], got.Labels["a"] = "2", "3"
	listed, err := s.client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	must(t, err)
	listed.Items[0].Labels["a"] = "4"
	must(t, s.bind("p", "n")) // gives it a condition
	s.getPod("p").Labels["a"] = "4.5"
	same, err := s.patchPod("p", mergePatch, `{}`)
	must(t, err)
	same.Status.Conditions[0].Reason = "5"
	same.Labels["a"] = "5"
	same.Spec.Containers[0].Name = "5"
	w := s.watchPods(metav1.ListOptions{})
	other := s.watchPods(metav1.ListOptions{ResourceVersion: s.getPod("p").ResourceVersion})
	s.nextPod(w, watch.Added).Labels["a"] = "6"
	patched, err := s.patchPod("p", mergePatch, `{"status":{"phase":"Running"}}`, "status")
	must(t, err)
	patched.Spec.Containers[0].Name = "7"
	s.nextPod(w, watch.Modified).Labels["a"] = "8"
	equal(t, "label that another watcher sees", s.nextPod(other, watch.Modified).Labels["a"], "1")
	equal(t, "label", s.getPod("p").Labels["a"], "1")
	equal(t, "container", s.getPod("p").Spec.Containers[0].Name, "main")
	equal(t, "reason", s.getPod("p").Status.Conditions[0].Reason, "")
	s.deletePod("p", *metav1.NewDeleteOptions(0))
	for _, watcher := range []watch.Interface{w, other} {
		s.nextPod(watcher, watch.Modified)
		gone := s.nextPod(watcher, watch.Deleted)
		equal(t, "label of the deleted pod", gone.Labels["a"], "1")
		gone.Labels["a"] = "9"
	}
}

func TestSameRequestsGiveTheSameCluster(t *testing.T) {
	play := func() string {
		s := newSubject(t, NewCluster())
		pod := podNamed("", "n")
		pod.GenerateName = "web-"
		var log []string
		for range 3 {
			created := s.create(pod)
			log = append(log, fmt.Sprint(created.Name, created.UID, created.ResourceVersion))
		}
		return strings.Join(log, "\n")
	}
	equal(t, "the second run", play(), play())
}
