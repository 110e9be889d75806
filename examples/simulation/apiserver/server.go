package apiserver

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubelife/lifecycle/examples/process/apipatch"
)

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// status is the one subresource with the shape of its resource.
const status = "status"

// Server answers requests from a store. A write is computed from what was read
// and committed only if that is still stored, else it is computed again. One of
// the competing writes succeeds every time, so that this ends.
//
// A Server is as safe for concurrent use as its store.
type Server struct {
	// Shared says that answers are stored objects in place of copies of them, and
	// that their reader does not modify them. To be set before the first request.
	Shared bool

	store Store
	kinds kinds
}

// NewServer returns a server of what is in a store. types makes lists, and the
// objects of resources that are watched or selected by fields.
func NewServer(store Store, types *runtime.Scheme) *Server {
	return &Server{store: store, kinds: kindsOf(types)}
}

// answer returns an object as a request is answered with it.
func (s *Server) answer(object runtime.Object) runtime.Object {
	if s.Shared {
		return object
	}
	return object.DeepCopyObject()
}

// WriteOptions says how a request changes an object.
type WriteOptions struct {
	// Subresource is "status", or empty for the resource itself.
	Subresource string
	// DryRun is the request's. With "All" the answer is computed and nothing is
	// stored.
	DryRun []string
}

// write is WriteOptions after a look at them.
type write struct {
	subresource string // "" or status
	dry         bool   // answer only, store nothing
	// replace is set for an update, whose UID is a precondition. The UID in a
	// patch is taken for an attempt to change it.
	replace bool
}

func (o WriteOptions) write() (write, error) {
	dry, err := dryRun(o.DryRun)
	return write{subresource: o.Subresource, dry: dry}, err
}

// dryRun reports whether a request only asks what would happen. The API knows
// the one value "All".
func dryRun(values []string) (bool, error) {
	for _, value := range values {
		if value != metav1.DryRunAll {
			return false, apierrors.NewBadRequest("dryRun: only All is known, got " + value)
		}
	}
	return len(values) > 0, nil
}

// Get returns an object.
func (s *Server) Get(gvr schema.GroupVersionResource, k Key) (runtime.Object, error) {
	object, ok := s.store.Get(gvr, k)
	if !ok {
		return nil, apierrors.NewNotFound(gvr.GroupResource(), k.Name)
	}
	return s.answer(object), nil
}

// List answers with everything at once: the API leaves it to the server whether
// to honour a limit.
func (s *Server) List(
	gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, namespace string, options metav1.ListOptions,
) (runtime.Object, error) {
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
	entries, now := s.store.Snapshot(gvr, namespace)
	if version > now {
		return nil, tooLarge(version, now)
	}
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact && version != now {
		return nil, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	items := make([]runtime.Object, 0, len(entries))
	for _, object := range Sorted[runtime.Object](entries) {
		if f.matches(object) {
			items = append(items, s.answer(object))
		}
	}
	return s.listOf(gvk, items, now)
}

func (s *Server) listOf(
	gvk schema.GroupVersionKind, items []runtime.Object, version uint64,
) (runtime.Object, error) {
	list, err := s.kinds.types.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
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

// Create stores a new object. UID, creation time and version are the server's,
// whatever the client has set; so is the status, except for nodes.
func (s *Server) Create(
	now time.Time, gvr schema.GroupVersionResource, namespace string, object runtime.Object, options WriteOptions,
) (runtime.Object, error) {
	w, err := options.write()
	if err != nil {
		return nil, err
	}
	return s.create(now, gvr, namespace, object, w.dry)
}

func (s *Server) create(
	now time.Time, gvr schema.GroupVersionResource, namespace string, object runtime.Object, dry bool,
) (runtime.Object, error) {
	next, err := normalized(object)
	if err != nil {
		return nil, err
	}
	m := MetaOf(next)
	if err := matchNamespace(m, namespace); err != nil {
		return nil, err
	}
	if m.GetResourceVersion() != "" {
		return nil, failure("resourceVersion should not be set on objects to be created")
	}
	id := s.store.NextID()
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(m.GetGenerateName() + suffix(id))
	}
	beforeCreate(now, next, uid(id))
	if err := validate(gvr.Group, next); err != nil {
		return nil, err
	}
	if _, exists := s.store.Get(gvr, KeyOf(m)); dry && !exists {
		return next, nil
	}
	if !s.store.Commit(Change{Resource: gvr, Key: KeyOf(m), At: now, Next: next}) {
		return nil, apierrors.NewAlreadyExists(gvr.GroupResource(), m.GetName())
	}
	return s.answer(next), nil
}

// Update replaces an object. Leases, alone of the kinds that matter here, are
// created when there is none, and cannot be updated without a resourceVersion.
func (s *Server) Update(
	now time.Time, gvr schema.GroupVersionResource, namespace string, object runtime.Object, options WriteOptions,
) (runtime.Object, error) {
	w, err := options.write()
	if err != nil {
		return nil, err
	}
	wanted, err := normalized(object)
	if err != nil {
		return nil, err
	}
	m := MetaOf(wanted)
	if err := matchNamespace(m, namespace); err != nil {
		return nil, err
	}
	if _, exists := s.store.Get(gvr, KeyOf(m)); !exists && isLease(wanted) {
		return s.createByUpdate(now, gvr, wanted, w)
	}
	w.replace = true
	return s.modify(now, gvr, KeyOf(m), w, func(runtime.Object) (runtime.Object, error) {
		return wanted.DeepCopyObject(), nil
	})
}

func (s *Server) createByUpdate(
	now time.Time, gvr schema.GroupVersionResource, wanted runtime.Object, w write,
) (runtime.Object, error) {
	m := MetaOf(wanted)
	if m.GetUID() != "" {
		return nil, conflictingUID(gvr, m, &metav1.ObjectMeta{})
	}
	m.SetResourceVersion("")
	return s.create(now, gvr, m.GetNamespace(), wanted, w.dry)
}

// Patch applies a patch of any type but those of server-side apply.
func (s *Server) Patch(
	now time.Time, gvr schema.GroupVersionResource, k Key, kind types.PatchType, patch []byte, options WriteOptions,
) (runtime.Object, error) {
	w, err := options.write()
	if err != nil {
		return nil, err
	}
	return s.modify(now, gvr, k, w, func(current runtime.Object) (runtime.Object, error) {
		next, err := apipatch.Apply(current, kind, patch)
		if err != nil {
			return nil, err
		}
		return next, matchIdentity(MetaOf(next), k)
	})
}

// modify stores what compute makes of the current object, which it must not
// change. compute may be called more than once.
func (s *Server) modify(
	now time.Time, gvr schema.GroupVersionResource, k Key, w write,
	compute func(current runtime.Object) (runtime.Object, error),
) (runtime.Object, error) {
	for {
		current, ok := s.store.Get(gvr, k)
		if !ok {
			return nil, apierrors.NewNotFound(gvr.GroupResource(), k.Name)
		}
		next, err := compute(current)
		if err != nil {
			return nil, err
		}
		if err := w.prepare(gvr, next, current); err != nil {
			return nil, err
		}
		if w.dry || w.changesNothing(next, current) {
			return s.answer(next), nil // it shares parts with what is stored
		}
		step := Change{Resource: gvr, Key: k, At: now, Old: current, Next: next}
		if finalized(next) {
			step.Next, step.Last = nil, current.DeepCopyObject()
		}
		if s.store.Commit(step) {
			return s.answer(next), nil
		}
	}
}

// changesNothing reports whether two states of an object are equal. The part
// that the write is about is compared first: mostly it differs.
func (w write) changesNothing(next, current runtime.Object) bool {
	part := "Spec"
	if w.subresource == status {
		part = "Status"
	}
	return equalPart(next, current, part) && equality.Semantic.DeepEqual(current, next)
}

// prepare checks and completes the new state of an object. The order is that of
// a real server, so that a write with several faults gets its answer.
func (w write) prepare(gvr schema.GroupVersionResource, next, current runtime.Object) error {
	if w.subresource == status && !hasStatus(current) {
		resource := schema.GroupResource{Group: gvr.Group, Resource: gvr.Resource + "/" + status}
		return apierrors.NewMethodNotSupported(resource, "update")
	}
	n, c := MetaOf(next), MetaOf(current)
	foreign := n.GetUID() != "" && n.GetUID() != c.GetUID()
	if foreign && w.replace {
		return conflictingUID(gvr, n, c)
	}
	if err := checkVersion(gvr, next, current); err != nil {
		return err
	}
	if foreign {
		return invalid(gvr.Group, current, field.Invalid(field.NewPath("metadata", "uid"), n.GetUID(), "field is immutable"))
	}
	beforeUpdate(next, current, w.subresource)
	if err := validateUpdate(gvr.Group, next, current); err != nil {
		return err
	}
	return validate(gvr.Group, next)
}

// checkVersion refuses a write that was computed from another version. No
// version at all means "whatever it is", which leases do not allow.
func checkVersion(gvr schema.GroupVersionResource, next, current runtime.Object) error {
	n, c := MetaOf(next), MetaOf(current)
	switch n.GetResourceVersion() {
	case c.GetResourceVersion():
		return nil
	case "":
		if isLease(current) {
			return invalid(gvr.Group, current,
				field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update"))
		}
		n.SetResourceVersion(c.GetResourceVersion())
		return nil
	}
	return apierrors.NewConflict(gvr.GroupResource(), c.GetName(),
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

const internalServerError = 500 // net/http has the name, and I/O

// failure is the answer to a fault for which a real server makes no Status of
// its own: 500 without a reason.
func failure(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: internalServerError, Message: message,
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
		return apierrors.NewBadRequest(
			"the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

func matchIdentity(m metav1.Object, k Key) error {
	if err := matchNamespace(m, k.Namespace); err != nil {
		return err
	}
	if m.GetName() != k.Name {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), k.Name))
	}
	return nil
}

// uid writes a number in the shape of a random UUID.
func uid(n uint64) types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n))
}

// suffix is the five characters that complete a generateName.
func suffix(n uint64) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	var chars [5]byte
	for i := len(chars) - 1; i >= 0; i-- {
		chars[i] = alphabet[n%uint64(len(alphabet))]
		n /= uint64(len(alphabet))
	}
	return string(chars[:])
}
