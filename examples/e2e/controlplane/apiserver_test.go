package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

func clientAs(t *testing.T, cp *ControlPlane, userAgent string) *kubernetes.Clientset {
	t.Helper()
	config := cp.RESTConfig()
	config.UserAgent = userAgent
	return clientFor(t, config)
}

func label(ctx context.Context, client kubernetes.Interface, node, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"touched":%q}}}`, value)
	_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// Many writers at once, and the count is right the moment that they have their
// answers.
func testCount(t *testing.T, cp *ControlPlane) {
	const writers, each = 16, 25
	ours, others := clientAs(t, cp, "nodelifecycle/test"), clientAs(t, cp, "another-client")
	want := map[string]int{}
	for i := range writers {
		name := fmt.Sprintf("counted-%d", i)
		createNode(t, others, name)
		want[name] = each
	}
	for round := range 3 {
		since := time.Now()
		var group sync.WaitGroup
		for name := range want {
			group.Go(func() {
				for i := range each {
					if err := label(t.Context(), ours, name, fmt.Sprintf("%d-%d", round, i)); err != nil {
						t.Error(err)
					}
				}
				if err := label(t.Context(), others, name, "else"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		requests,
			err := cp.Requests(t.Context(), Filter{UserAgent: "nodelifecycle", Verb: "patch", Resource: "nodes", Since: since})
		if err != nil {
			t.Fatal(err)
		}
		if got := CountBy(requests, Request.Object); !maps.Equal(got, want) {
			t.Fatalf("round %d: counted %v, want %v", round, got, want)
		}
		for _, request := range requests {
			if request.Code != 200 || request.Answered.Before(request.Received) {
				t.Fatalf("round %d: %+v has no proper answer", round, request)
			}
		}
	}
	testCountKinds(t, cp, ours)
}

// Each kind of request that an eviction makes is told from the others, with its
// code.
func testCountKinds(t *testing.T, cp *ControlPlane, client kubernetes.Interface) {
	since := time.Now()
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	createPod(t, client, "counted-pod")
	if _, err := pods.Patch(t.Context(), "counted-pod", types.MergePatchType, []byte(`{"status":{"reason":"Evicted"}}`),
		metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	if err := pods.Delete(t.Context(), "counted-pod", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "counted-pod", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	watch, err := pods.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()

	requests, err := cp.Requests(t.Context(), Filter{UserAgent: "nodelifecycle", Resource: "*", Since: since})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range requests {
		got = append(got, fmt.Sprint(r.Verb, " ", r.Resource, "/", r.Subresource, " ", r.Object(), " ", r.Code))
	}
	want := []string{
		"create pods/ default/counted-pod 201",
		"patch pods/status default/counted-pod 200",
		"delete pods/ default/counted-pod 200",
		"delete pods/ default/counted-pod 404",
		"watch pods/ default/ 200",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func testKill(t *testing.T, cp *ControlPlane) {
	client := clientFor(t, cp.RESTConfig())
	createNamespace(t, client, "kept")
	created := createNode(t, client, "kept")
	if err := cp.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := listNodes(t, client); err == nil {
		t.Error("a killed server answered")
	}
	if err := cp.KillAPIServer(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("kill of a killed server: %v, want ErrNotRunning", err)
	}

	begun := time.Now()
	if err := cp.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("restarted in %s", time.Since(begun).Round(time.Millisecond))
	node, err := client.CoreV1().Nodes().Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.UID != created.UID {
		t.Errorf("another node of that name: %s, was %s", node.UID, created.UID)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// A server is killed over its work. Every answer that a writer has seen is in
// the count.
func testCountOverRestart(t *testing.T, cp *ControlPlane) {
	client := clientAs(t, cp, "over-restart")
	createNode(t, client, "restarted")
	var tried, answered atomic.Int64
	stop := make(chan struct{})
	var group sync.WaitGroup
	for writer := range 4 {
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				tried.Add(1)
				if label(t.Context(), client, "restarted", fmt.Sprint(writer, "-", i)) == nil {
					answered.Add(1)
				}
			}
		})
	}
	eventually(t, "the writers are at work", func() bool { return answered.Load() > 50 })
	if err := cp.RestartAPIServer(t.Context()); err != nil {
		t.Error(err)
	}
	atRestart := answered.Load()
	// This takes seconds: a starting server may tell clients to come again later.
	eventually(t, "the writers are at work again", func() bool { return answered.Load() > atRestart+50 })
	close(stop)
	group.Wait()

	requests, err := cp.Requests(t.Context(), Filter{UserAgent: "over-restart", Verb: "patch"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int64{}
	for _, request := range requests {
		got[request.Code]++
	}
	t.Logf("%d tries, %d answered, by code %v", tried.Load(), answered.Load(), got)
	// The four writers' requests of the moment of the kill may have lost either
	// their answer or the record of it.
	if got[200]+got[0] < answered.Load() || got[200] < answered.Load()-4 || got[200] > answered.Load()+4 || got[0] > 4 {
		t.Errorf("%d answers were seen, counted by code: %v", answered.Load(), got)
	}
}
