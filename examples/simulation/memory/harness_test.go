package memory

import (
	"context"
	"os"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// subject is a server under test: this package's, or a real one that must
// answer alike.
type subject struct {
	t      *testing.T
	ctx    context.Context
	client kubernetes.Interface
	ns     string
}

// onEachServer runs a test against the server in memory and, when
// LIFECYCLE_TEST_KUBECONFIG is set, against that kube-apiserver, which needs no
// controllers, scheduler or nodes.
func onEachServer(t *testing.T, test func(t *testing.T, s subject)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		test(t, newSubject(t, NewCluster()))
	})
	path := os.Getenv("LIFECYCLE_TEST_KUBECONFIG")
	if path == "" {
		return
	}
	t.Run("kube-apiserver", func(t *testing.T) {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		must(t, err)
		config.QPS = -1
		client, err := kubernetes.NewForConfig(config)
		must(t, err)
		test(t, newSubject(t, client))
	})
}

func newSubject(t *testing.T, client kubernetes.Interface) subject {
	t.Helper()
	ctx := deadline(t)
	ns, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "memory-"}}, metav1.CreateOptions{})
	must(t, err)
	// A real server's admission wants it for pods.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = client.CoreV1().ServiceAccounts(ns.Name).Create(ctx, account, metav1.CreateOptions{})
	must(t, err)
	return subject{t: t, ctx: ctx, client: client, ns: ns.Name}
}

// deadline bounds everything that a test waits for.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantCode checks that a request was refused with an HTTP status.
func wantCode(t *testing.T, what string, err error, code int32) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != code {
		t.Errorf("%s: got the error %v, want code %d", what, err, code)
	}
}

func (s subject) createPod(name, node string) *corev1.Pod {
	s.t.Helper()
	return s.create(podNamed(name, node))
}

func (s subject) create(pod *corev1.Pod) *corev1.Pod {
	s.t.Helper()
	created, err := s.client.CoreV1().Pods(s.ns).Create(s.ctx, pod, metav1.CreateOptions{})
	must(s.t, err)
	return created
}

func podNamed(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName:   node,
			Containers: []corev1.Container{{Name: "main", Image: "image"}},
		},
	}
}

func (s subject) getPod(name string) *corev1.Pod {
	s.t.Helper()
	pod, err := s.client.CoreV1().Pods(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	must(s.t, err)
	return pod
}

// createNode makes a node without taints; a real server's admission adds one.
func (s subject) createNode() *corev1.Node {
	s.t.Helper()
	node, err := s.client.CoreV1().Nodes().Create(s.ctx,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "memory-"}}, metav1.CreateOptions{})
	must(s.t, err)
	s.t.Cleanup(func() {
		err := s.client.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Error(err)
		}
	})
	return s.patchNode(node.Name, mergePatch, `{"spec":{"taints":null}}`)
}

func (s subject) createLease(name string) *coordinationv1.Lease {
	s.t.Helper()
	holder, seconds := name, int32(40)
	lease, err := s.client.CoordinationV1().Leases(s.ns).Create(s.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
	}, metav1.CreateOptions{})
	must(s.t, err)
	return lease
}

// watchPods watches the test's namespace until the test ends.
func (s subject) watchPods(options metav1.ListOptions) watch.Interface {
	s.t.Helper()
	w, err := s.client.CoreV1().Pods(s.ns).Watch(s.ctx, options)
	must(s.t, err)
	s.t.Cleanup(w.Stop)
	return w
}

// next waits for one event of a watch.
func (s subject) next(w watch.Interface) watch.Event {
	s.t.Helper()
	select {
	case event, open := <-w.ResultChan():
		if !open {
			s.t.Fatal("the watch has ended")
		}
		return event
	case <-s.ctx.Done():
		s.t.Fatal("no event:", s.ctx.Err())
	}
	return watch.Event{}
}

// nextPod waits for one event and checks its type.
func (s subject) nextPod(w watch.Interface, want watch.EventType) *corev1.Pod {
	s.t.Helper()
	event := s.next(w)
	pod, ok := event.Object.(*corev1.Pod)
	if event.Type != want || !ok {
		s.t.Fatalf("got %s of %T, want %s of a pod", event.Type, event.Object, want)
	}
	return pod
}
