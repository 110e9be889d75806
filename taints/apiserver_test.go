package taints_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// apiServer keeps nodes in memory and answers as kube-apiserver v1.37 does. It
// applies JSON patches one after the other. It refuses a failed test with 422
// without causes, and an invalid taint list with 422 and causes.
type apiServer struct {
	// latency is how long a request takes to arrive, and its answer to come back.
	latency time.Duration
	// before, if set, runs before a call takes effect. An error is its answer.
	before func(call string) error

	mu      sync.Mutex
	nodes   map[string]*corev1.Node
	version int
	calls   []string
}

func newAPIServer(nodes ...*corev1.Node) *apiServer {
	s := &apiServer{nodes: map[string]*corev1.Node{}}
	for _, node := range nodes {
		s.store(node)
	}
	return s
}

func (s *apiServer) Get(
	ctx context.Context, name string, _ metav1.GetOptions,
) (*corev1.Node, error) {
	return s.call(ctx, "GET "+name, func() (*corev1.Node, error) {
		node, ok := s.nodes[name]
		if !ok {
			return nil, nodeNotFound(name)
		}
		return node.DeepCopy(), nil
	})
}

func (s *apiServer) Patch(ctx context.Context, name string, pt types.PatchType, data []byte,
	_ metav1.PatchOptions, subresources ...string) (*corev1.Node, error) {
	return s.call(ctx, "PATCH "+name, func() (*corev1.Node, error) {
		node, ok := s.nodes[name]
		if !ok {
			return nil, nodeNotFound(name)
		}
		if pt != types.JSONPatchType || len(subresources) != 0 {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch",
				nodeResource, name, string(pt), 0, true)
		}
		patched, err := patchNode(node, data)
		if err != nil {
			return nil, err
		}
		return s.storeLocked(patched), nil
	})
}

// call makes one request: it is recorded when it takes effect or is refused.
func (s *apiServer) call(
	ctx context.Context, name string, effect func() (*corev1.Node, error),
) (*corev1.Node, error) {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	s.mu.Unlock()
	if err := s.travel(ctx); err != nil {
		return &corev1.Node{}, err // client-go returns an empty object and an error
	}
	if s.before != nil {
		if err := s.before(name); err != nil {
			return &corev1.Node{}, err
		}
	}
	s.mu.Lock()
	node, err := effect()
	s.mu.Unlock()
	if err == nil {
		err = s.travel(ctx)
	}
	if err != nil {
		return &corev1.Node{}, err
	}
	return node, nil
}

func (s *apiServer) travel(ctx context.Context) error {
	if s.latency > 0 {
		time.Sleep(s.latency) // in a synctest bubble
	}
	return ctx.Err()
}

// store writes a node, as another client would with an update.
func (s *apiServer) store(node *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storeLocked(node)
}

func (s *apiServer) storeLocked(node *corev1.Node) *corev1.Node {
	s.version++
	stored := node.DeepCopy()
	stored.ResourceVersion = strconv.Itoa(s.version)
	s.nodes[stored.Name] = stored
	return stored.DeepCopy()
}

// change is another writer, without latency.
func (s *apiServer) change(name string, edit func(*corev1.Node)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	node := s.nodes[name].DeepCopy()
	edit(node)
	s.storeLocked(node)
}

func (s *apiServer) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, name)
}

// node is what is stored.
func (s *apiServer) node(name string) *corev1.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[name].DeepCopy()
}

// asked returns the calls since the last time.
func (s *apiServer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

var nodeResource = schema.GroupResource{Resource: "nodes"}

func nodeNotFound(name string) error { return apierrors.NewNotFound(nodeResource, name) }

func patchNode(node *corev1.Node, patch []byte) (*corev1.Node, error) {
	document, err := json.Marshal(node)
	if err != nil {
		return nil, err
	}
	document, err = applyJSONPatch(document, patch)
	if err != nil {
		return nil, refused(err.Error())
	}
	patched := &corev1.Node{}
	if err := json.Unmarshal(document, patched); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if errs := validate(patched.Spec.Taints); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, node.Name, errs)
	}
	return patched, nil
}

// refused is the answer to a patch that does not apply.
func refused(message string) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "",
		schema.GroupResource{}, "", message, 0, false)
}

func validate(list []corev1.Taint) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata", "taints") // so says v1.37.1
	seen := sets.New[string]()
	for i, taint := range list {
		if taint.Key == "" {
			errs = append(errs, field.Required(path.Index(i).Child("key"), ""))
		}
		if taint.Effect != noSchedule && taint.Effect != prefer && taint.Effect != noExecute {
			errs = append(errs, field.NotSupported(path.Index(i).Child("effect"), taint.Effect,
				[]corev1.TaintEffect{noSchedule, prefer, noExecute}))
		}
		id := fmt.Sprint(taint.Key, " ", taint.Effect)
		if seen.Has(id) {
			errs = append(errs, field.Duplicate(path.Index(i), id))
		}
		seen.Insert(id)
	}
	return errs
}
