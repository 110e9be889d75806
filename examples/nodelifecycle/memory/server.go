package memory

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubelife/lifecycle/examples/apipatch"
)

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// status is the one subresource with the shape of its resource.
const status = "status"

// server answers requests from a store. It holds no lock of its own: a write is
// computed from what was read and committed only if that is still stored, else
// it is computed again. Somebody's write succeeds every time, so that this ends.
type server struct {
	store *store
	kinds kinds
}

// write says how a request changes an object.
type write struct {
	subresource string // "" or status
	dry         bool   // answer only, store nothing
	// replace is set for an update, whose UID is a precondition. The UID in a
	// patch is taken for an attempt to change it.
	replace bool
}

func (s *server) get(gvr schema.GroupVersionResource, k key) (runtime.Object, error) {
	object, ok := s.store.get(gvr, k)
	if !ok {
		return nil, apierrors.NewNotFound(gvr.GroupResource(), k.name)
	}
	return object.DeepCopyObject(), nil
}

// list answers with everything at once: the API leaves it to the server whether
// to honour a limit.
func (s *server) list(gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	f, err := s.filter(gvr, options)
	if err != nil {
		return nil, err
	}
	if options.Continue != "" {
		return nil, apierrors.NewBadRequest("continue key is not valid: no list of this server is continued")
	}
	version, err := parseVersion(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	stored, now := s.store.list(gvr, namespace)
	if version > now {
		return nil, tooLarge(version, now)
	}
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact && version != now {
		return nil, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	items := make([]runtime.Object, 0, len(stored))
	for _, object := range stored {
		if f.matches(object) {
			items = append(items, object.DeepCopyObject())
		}
	}
	return listOf(gvk, items, now)
}

func listOf(gvk schema.GroupVersionKind, items []runtime.Object, version uint64) (runtime.Object, error) {
	list, err := scheme.Scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	m.SetResourceVersion(formatVersion(version))
	return list, nil
}

// create stores a new object. UID, creation time and version are the server's,
// whatever the client has set; so is the status, except for nodes.
func (s *server) create(gvr schema.GroupVersionResource, namespace string, object runtime.Object, dry bool) (runtime.Object, error) {
	next, err := normalized(object)
	if err != nil {
		return nil, err
	}
	m := metaOf(next)
	if err := matchNamespace(m, namespace); err != nil {
		return nil, err
	}
	if m.GetResourceVersion() != "" {
		return nil, failure("resourceVersion should not be set on objects to be created")
	}
	id := s.store.nextIdentity()
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(m.GetGenerateName() + suffix(id))
	}
	beforeCreate(next, uid(id))
	if err := validate(next); err != nil {
		return nil, err
	}
	if _, exists := s.store.get(gvr, keyOf(m)); dry && !exists {
		return next, nil
	}
	if !s.store.commit(change{resource: gvr, key: keyOf(m), next: next}) {
		return nil, apierrors.NewAlreadyExists(gvr.GroupResource(), m.GetName())
	}
	return next.DeepCopyObject(), nil
}

// update replaces an object. Leases, alone of the kinds that matter here, are
// created when there is none, and cannot be updated without a resourceVersion.
func (s *server) update(gvr schema.GroupVersionResource, namespace string, object runtime.Object, w write) (runtime.Object, error) {
	wanted, err := normalized(object)
	if err != nil {
		return nil, err
	}
	m := metaOf(wanted)
	if err := matchNamespace(m, namespace); err != nil {
		return nil, err
	}
	if _, exists := s.store.get(gvr, keyOf(m)); !exists && isLease(wanted) {
		return s.createByUpdate(gvr, wanted, w)
	}
	w.replace = true
	return s.modify(gvr, keyOf(m), w, func(runtime.Object) (runtime.Object, error) {
		return wanted.DeepCopyObject(), nil
	})
}

func (s *server) createByUpdate(gvr schema.GroupVersionResource, wanted runtime.Object, w write) (runtime.Object, error) {
	m := metaOf(wanted)
	if m.GetUID() != "" {
		return nil, conflictingUID(gvr, m, &metav1.ObjectMeta{})
	}
	m.SetResourceVersion("")
	return s.create(gvr, m.GetNamespace(), wanted, w.dry)
}

func (s *server) patch(gvr schema.GroupVersionResource, k key, kind types.PatchType, patch []byte, w write) (runtime.Object, error) {
	return s.modify(gvr, k, w, func(current runtime.Object) (runtime.Object, error) {
		next, err := apipatch.Apply(current, kind, patch)
		if err != nil {
			return nil, err
		}
		return next, matchIdentity(metaOf(next), k)
	})
}

// modify stores what compute makes of the current object, which it must not
// change. compute may be called more than once.
func (s *server) modify(gvr schema.GroupVersionResource, k key, w write, compute func(current runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	for {
		current, ok := s.store.get(gvr, k)
		if !ok {
			return nil, apierrors.NewNotFound(gvr.GroupResource(), k.name)
		}
		next, err := compute(current)
		if err != nil {
			return nil, err
		}
		if err := w.prepare(gvr, next, current); err != nil {
			return nil, err
		}
		if w.dry || equality.Semantic.DeepEqual(current, next) {
			return next.DeepCopyObject(), nil // it shares parts with what is stored
		}
		step := change{resource: gvr, key: k, old: current, next: next}
		if finalized(next) {
			step.next, step.last = nil, current.DeepCopyObject()
		}
		if s.store.commit(step) {
			return next.DeepCopyObject(), nil
		}
	}
}

// prepare checks and completes the new state of an object, in the order in
// which a real server does, so that a write with several faults gets its answer.
func (w write) prepare(gvr schema.GroupVersionResource, next, current runtime.Object) error {
	if w.subresource == status && !hasStatus(current) {
		resource := schema.GroupResource{Group: gvr.Group, Resource: gvr.Resource + "/" + status}
		return apierrors.NewMethodNotSupported(resource, "update")
	}
	n, c := metaOf(next), metaOf(current)
	foreign := n.GetUID() != "" && n.GetUID() != c.GetUID()
	if foreign && w.replace {
		return conflictingUID(gvr, n, c)
	}
	if err := checkVersion(gvr, next, current); err != nil {
		return err
	}
	if foreign {
		return invalid(current, field.Invalid(field.NewPath("metadata", "uid"), n.GetUID(), "field is immutable"))
	}
	beforeUpdate(next, current, w.subresource)
	if err := validateUpdate(next, current); err != nil {
		return err
	}
	return validate(next)
}

// checkVersion refuses a write that was computed from another version. No
// version at all means "whatever it is", which leases do not allow.
func checkVersion(gvr schema.GroupVersionResource, next, current runtime.Object) error {
	n, c := metaOf(next), metaOf(current)
	switch n.GetResourceVersion() {
	case c.GetResourceVersion():
		return nil
	case "":
		if isLease(current) {
			return invalid(current, field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update"))
		}
		n.SetResourceVersion(c.GetResourceVersion())
		return nil
	}
	return apierrors.NewConflict(gvr.GroupResource(), c.GetName(),
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// failure is the answer to a fault for which a real server makes no Status of
// its own: 500 without a reason.
func failure(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

func conflictingUID(gvr schema.GroupVersionResource, next, current metav1.Object) error {
	return apierrors.NewConflict(gvr.GroupResource(), next.GetName(), fmt.Errorf(
		"the UID of the update (%s) is not that of the object (%s)", next.GetUID(), current.GetUID()))
}

func matchNamespace(m metav1.Object, namespace string) error {
	if m.GetNamespace() == "" {
		m.SetNamespace(namespace)
	}
	if m.GetNamespace() != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

func matchIdentity(m metav1.Object, k key) error {
	if err := matchNamespace(m, k.namespace); err != nil {
		return err
	}
	if m.GetName() != k.name {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), k.name))
	}
	return nil
}
