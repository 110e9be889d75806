package upstream

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Writes is what the controller has sent to its API server in one sync.
type Writes struct {
	Created []*corev1.Pod
	Deleted []string // names of pods
	// Status is the last that was written, or nil.
	Status *appsv1.DaemonSetStatus
	// Revisions are those that were made.
	Revisions []*appsv1.ControllerRevision
	// Others are all other writes, for tests that expect none.
	Others []string
}

// client is an API server that agrees to everything and remembers what was
// written, without the work that client-go's fake clientset makes of it. What
// the controller does not call in a test has no implementation, and panics.
type client struct {
	kubernetes.Interface // nil

	closed <-chan struct{}
	mu     sync.Mutex
	writes Writes
	pods   int
}

// take returns what was written since the last time.
func (c *client) take() Writes {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes := c.writes
	c.writes = Writes{}
	return writes
}

func (c *client) note(write func(*Writes)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	write(&c.writes)
}

func (c *client) CoreV1() typedcorev1.CoreV1Interface { return coreClient{client: c} }
func (c *client) AppsV1() typedappsv1.AppsV1Interface { return appsClient{client: c} }

type coreClient struct {
	typedcorev1.CoreV1Interface // nil
	client                      *client
}

func (c coreClient) Pods(namespace string) typedcorev1.PodInterface {
	return podClient{client: c.client, namespace: namespace}
}

func (c coreClient) Events(string) typedcorev1.EventInterface {
	return eventClient{closed: c.client.closed}
}

type podClient struct {
	typedcorev1.PodInterface // nil
	client                   *client
	namespace                string
}

func (c podClient) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	made := *pod
	made.Namespace = c.namespace
	c.client.note(func(w *Writes) {
		c.client.pods++
		made.Name = fmt.Sprintf("%s%07d", pod.GenerateName, c.client.pods)
		made.UID = types.UID("uid-of-" + made.Name)
		w.Created = append(w.Created, &made)
	})
	return &made, nil
}

func (c podClient) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	c.client.note(func(w *Writes) { w.Deleted = append(w.Deleted, name) })
	return nil
}

func (c podClient) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions,
	_ ...string) (*corev1.Pod, error) {
	c.client.note(func(w *Writes) { w.Others = append(w.Others, fmt.Sprintf("patch pod %s: %s", name, data)) })
	return &corev1.Pod{}, nil
}

type appsClient struct {
	typedappsv1.AppsV1Interface // nil
	client                      *client
}

func (c appsClient) DaemonSets(string) typedappsv1.DaemonSetInterface {
	return daemonSetClient{client: c.client}
}

func (c appsClient) ControllerRevisions(string) typedappsv1.ControllerRevisionInterface {
	return revisionClient{client: c.client}
}

type daemonSetClient struct {
	typedappsv1.DaemonSetInterface // nil
	client                         *client
}

func (c daemonSetClient) UpdateStatus(_ context.Context, set *appsv1.DaemonSet,
	_ metav1.UpdateOptions) (*appsv1.DaemonSet, error) {
	c.client.note(func(w *Writes) { w.Status = &set.Status })
	return set, nil
}

type revisionClient struct {
	typedappsv1.ControllerRevisionInterface // nil
	client                                  *client
}

func (c revisionClient) Create(_ context.Context, revision *appsv1.ControllerRevision,
	_ metav1.CreateOptions) (*appsv1.ControllerRevision, error) {
	c.client.note(func(w *Writes) { w.Revisions = append(w.Revisions, revision) })
	return revision, nil
}

func (c revisionClient) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	c.client.note(func(w *Writes) { w.Others = append(w.Others, "delete revision "+name) })
	return nil
}

// eventClient is an API server that never answers. The first event to be
// recorded waits there until the controller is closed, and all others behind
// it. So the recording of events, which goes on after a sync, is neither
// compared nor measured.
type eventClient struct {
	typedcorev1.EventInterface // nil
	closed                     <-chan struct{}
}

func (c eventClient) CreateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	<-c.closed
	return event, nil
}

func (c eventClient) PatchWithEventNamespace(event *corev1.Event, _ []byte) (*corev1.Event, error) {
	<-c.closed
	return event, nil
}
