package eviction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubelife/lifecycle/eviction"
)

var podResource = schema.GroupResource{Resource: "pods"}

// An apiServer answers a Deleter and an Evictor as kube-apiserver v1.37.1 was
// seen to. A patch with another resourceVersion is a conflict, and one with
// another UID is invalid. A delete or an eviction whose preconditions do not
// hold is a conflict. One of a terminating pod is accepted.
type apiServer struct {
	mu      sync.Mutex
	version int
	pods    map[string]*corev1.Pod // by namespace/name
	nodes   map[string]*corev1.Node
	calls   []call
	// before, if it is not nil, is called ahead of every call, without the lock.
	// Its error is the answer.
	before func(call) error
	// protected, if it is not nil, says which pods a PodDisruptionBudget keeps
	// now.
	protected func(*corev1.Pod) bool
	// changed, if it is not nil, is told each pod that a call has changed.
	changed func(*corev1.Pod)
}

// A call is one that the server has got: "get pod", "patch", "delete", "evict"
// or "get node". An eviction has its options of deletion.
type call struct {
	verb, name  string
	patch       string
	patchType   types.PatchType
	subresource []string
	delete      metav1.DeleteOptions
}

func newAPIServer() *apiServer {
	return &apiServer{version: 100, pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}}
}

// put creates or replaces objects, whatever they were.
func (s *apiServer) put(pods ...*corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range pods {
		stored := pod.DeepCopy()
		s.version++
		stored.ResourceVersion = strconv.Itoa(s.version)
		s.pods[pod.Namespace+"/"+pod.Name] = stored
	}
}

func (s *apiServer) putNode(node *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[node.Name] = node
}

// get returns the pod as it is, nil when it is not there, and is not a call.
func (s *apiServer) get(namespace, name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[namespace+"/"+name].DeepCopy()
}

// verbs returns what was called, in order.
func (s *apiServer) verbs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{}
	for _, call := range s.calls {
		out = append(out, call.verb)
	}
	return out
}

const tooManyCalls = 20_000

func (s *apiServer) arrive(ctx context.Context, c call) error {
	s.mu.Lock()
	s.calls = append(s.calls, c)
	before, count := s.before, len(s.calls)
	s.mu.Unlock()
	if count > tooManyCalls { // of a caller that does not wait between them
		<-ctx.Done()
	}
	if before != nil {
		if err := before(c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// client returns the pod client of a namespace.
func (s *apiServer) client(namespace string) eviction.PodClient { return podClient{s, namespace} }

// evictable is client for Evict.
func (s *apiServer) evictable(namespace string) eviction.EvictionClient {
	return podClient{s, namespace}
}

type podClient struct {
	*apiServer
	namespace string
}

func (c podClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	if err := c.arrive(ctx, call{verb: "get pod", name: name}); err != nil {
		return nil, err
	}
	if pod := c.get(c.namespace, name); pod != nil {
		return pod, nil
	}
	return nil, apierrors.NewNotFound(podResource, name)
}

func (c podClient) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	if err := c.arrive(ctx, call{verb: "patch", name: name, patch: string(data), patchType: kind, subresource: subresources}); err != nil {
		return nil, err
	}
	patched, err := c.apply(name, kind, data)
	if err == nil && c.changed != nil {
		c.changed(patched.DeepCopy())
	}
	return patched, err
}

func (c podClient) apply(name string, kind types.PatchType, data []byte) (*corev1.Pod, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stored := c.pods[c.namespace+"/"+name]
	if stored == nil {
		return nil, apierrors.NewNotFound(podResource, name)
	}
	if kind != types.StrategicMergePatchType {
		return nil, fmt.Errorf("patch type %s", kind)
	}
	current, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(current, data, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(merged, patched); err != nil {
		return nil, err
	}
	if patched.ResourceVersion != stored.ResourceVersion {
		return nil, apierrors.NewConflict(podResource, name, errors.New("the object has been modified"))
	}
	if patched.UID != stored.UID {
		immutable := field.Invalid(field.NewPath("metadata", "uid"), patched.UID, "field is immutable")
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, name, field.ErrorList{immutable})
	}
	c.version++
	patched.ResourceVersion = strconv.Itoa(c.version)
	c.pods[c.namespace+"/"+name] = patched
	return patched.DeepCopy(), nil
}

func (c podClient) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	if err := c.arrive(ctx, call{verb: "delete", name: name, delete: options}); err != nil {
		return err
	}
	deleted, err := c.terminate(name, options.Preconditions)
	if err == nil && c.changed != nil {
		c.changed(deleted)
	}
	return err
}

// budgetError is the answer to an eviction that a PodDisruptionBudget does not
// allow.
func budgetError() *apierrors.StatusError {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 3 healthy pods and has 3 currently",
	}}
	return err
}

func (c podClient) EvictV1(ctx context.Context, evict *policyv1.Eviction) error {
	if err := c.arrive(ctx, call{verb: "evict", name: evict.Name, delete: *evict.DeleteOptions}); err != nil {
		return err
	}
	pod := c.get(c.namespace, evict.Name)
	if pod != nil && pod.DeletionTimestamp == nil && c.protected != nil && c.protected(pod) {
		return budgetError()
	}
	evicted, err := c.terminate(evict.Name, evict.DeleteOptions.Preconditions)
	if err == nil && c.changed != nil {
		c.changed(evicted)
	}
	return err
}

func (c podClient) terminate(name string, preconditions *metav1.Preconditions) (*corev1.Pod, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stored := c.pods[c.namespace+"/"+name]
	if stored == nil {
		return nil, apierrors.NewNotFound(podResource, name)
	}
	if p := preconditions; p != nil {
		if p.UID != nil && *p.UID != stored.UID {
			return nil, apierrors.NewConflict(podResource, name, errors.New("the UID in the precondition does not match"))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != stored.ResourceVersion {
			return nil, apierrors.NewConflict(podResource, name, errors.New("the ResourceVersion in the precondition does not match"))
		}
	}
	if stored.DeletionTimestamp == nil {
		now := metav1.NewTime(at(0))
		stored.DeletionTimestamp = &now
		c.version++
		stored.ResourceVersion = strconv.Itoa(c.version)
	}
	return stored.DeepCopy(), nil
}

// nodeClient is the API server's client of nodes.
type nodeClient struct{ *apiServer }

func (c nodeClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	if err := c.arrive(ctx, call{verb: "get node", name: name}); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if node := c.nodes[name]; node != nil {
		return node.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
}
