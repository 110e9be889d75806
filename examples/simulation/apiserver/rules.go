package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubelife/lifecycle/examples/process/apipatch"
)

// The API's default, which decides how long a deleted pod stays.
const defaultTerminationGracePeriodSeconds = 30

// normalized returns the object as the API would keep it: a copy through JSON,
// which cuts times to the precision that is stored. A lease, the object that is
// written most, is copied without JSON.
func normalized(object runtime.Object) (runtime.Object, error) {
	if lease, ok := object.(*coordinationv1.Lease); ok {
		return normalizedLease(lease), nil
	}
	document, err := json.Marshal(object)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next, err := apipatch.Decode(document, object)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return next, nil
}

func normalizedLease(lease *coordinationv1.Lease) *coordinationv1.Lease {
	next := lease.DeepCopy()
	next.TypeMeta = metav1.TypeMeta{}
	next.CreationTimestamp = metav1.Time{Time: next.CreationTimestamp.Truncate(time.Second)}
	if at := next.DeletionTimestamp; at != nil {
		at.Time = at.Truncate(time.Second)
	}
	for _, at := range []*metav1.MicroTime{next.Spec.AcquireTime, next.Spec.RenewTime} {
		if at != nil {
			at.Time = at.Truncate(time.Microsecond)
		}
	}
	return next
}

// beforeCreate fills in what the server decides about a new object.
func beforeCreate(now time.Time, object runtime.Object, id types.UID) {
	m := MetaOf(object)
	m.SetUID(id)
	m.SetCreationTimestamp(stored(now))
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetManagedFields(nil)
	m.SetGeneration(0)
	if hasGeneration(object) {
		m.SetGeneration(1)
	}
	switch o := object.(type) {
	case *corev1.Node:
		// A kubelet registers its node with the status in place.
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending}
		if o.Spec.TerminationGracePeriodSeconds == nil {
			seconds := int64(defaultTerminationGracePeriodSeconds)
			o.Spec.TerminationGracePeriodSeconds = &seconds
		}
	case *corev1.Namespace:
		o.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		metav1.SetMetaDataLabel(&o.ObjectMeta, corev1.LabelMetadataName, o.Name)
	default:
		if part, ok := partOf(object, "Status"); ok {
			part.SetZero()
		}
	}
}

// beforeUpdate takes back what a write may not change. Parts of next may be
// those of current afterwards.
func beforeUpdate(next, current runtime.Object, subresource string) {
	n, c := MetaOf(next), MetaOf(current)
	n.SetGeneration(c.GetGeneration())
	n.SetManagedFields(nil)
	if subresource == status {
		keepPart(next, current, "Spec")
		beforeStatusUpdate(next, current)
	} else {
		keepPart(next, current, "Status")
		if c.GetGeneration() > 0 && !equalPart(next, current, "Spec") {
			n.SetGeneration(c.GetGeneration() + 1)
		}
	}
	n.SetUID(c.GetUID())
	n.SetCreationTimestamp(c.GetCreationTimestamp())
	if c.GetDeletionTimestamp() != nil {
		n.SetDeletionTimestamp(c.GetDeletionTimestamp())
	}
	if n.GetDeletionGracePeriodSeconds() == nil {
		n.SetDeletionGracePeriodSeconds(c.GetDeletionGracePeriodSeconds())
	}
}

func beforeStatusUpdate(next, current runtime.Object) {
	pod, ok := next.(*corev1.Pod)
	if !ok {
		return
	}
	pod.DeletionTimestamp = nil
	pod.OwnerReferences = MetaOf(current).GetOwnerReferences()
}

// validate checks the few rules whose breach by a controller should show.
//
// The path of a node's taints is the API's, though they are in its spec.
func validate(group string, object runtime.Object) error {
	m := MetaOf(object)
	if m.GetName() == "" {
		return invalid(group, object, field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	}
	if err := validateOwners(group, object); err != nil {
		return err
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return nil
	}
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]bool{}
	for i, taint := range node.Spec.Taints {
		id := identity{taint.Key, taint.Effect}
		if seen[id] {
			return invalid(group, node, field.Duplicate(field.NewPath("metadata", "taints").Index(i), taint))
		}
		seen[id] = true
	}
	return nil
}

// validateOwners refuses a second controller: of two that adopt an orphan at
// the same time, one gets it.
func validateOwners(group string, object runtime.Object) error {
	owners := MetaOf(object).GetOwnerReferences()
	first := ""
	for _, owner := range owners {
		if owner.Controller == nil || !*owner.Controller {
			continue
		}
		name := owner.Kind + "/" + owner.Name
		if first != "" {
			return invalid(group, object, field.Invalid(field.NewPath("metadata", "ownerReferences"), owners,
				fmt.Sprintf("one controller at most, and there are %s and %s", first, name)))
		}
		first = name
	}
	return nil
}

// validateUpdate checks what may not change but is not simply taken back.
func validateUpdate(group string, next, current runtime.Object) error {
	n, c := MetaOf(next), MetaOf(current)
	if !n.GetDeletionTimestamp().Equal(c.GetDeletionTimestamp()) {
		return invalid(group, current,
			field.Invalid(field.NewPath("metadata", "deletionTimestamp"), n.GetDeletionTimestamp(), "field is immutable"))
	}
	if !equality.Semantic.DeepEqual(n.GetDeletionGracePeriodSeconds(), c.GetDeletionGracePeriodSeconds()) {
		return invalid(group, current, field.Invalid(field.NewPath("metadata", "deletionGracePeriodSeconds"),
			n.GetDeletionGracePeriodSeconds(), "field is immutable"))
	}
	if c.GetDeletionTimestamp() != nil {
		for _, finalizer := range n.GetFinalizers() {
			if !slices.Contains(c.GetFinalizers(), finalizer) {
				return invalid(group, current, field.Forbidden(field.NewPath("metadata", "finalizers"),
					"no finalizer can be added to an object that is being deleted: "+finalizer))
			}
		}
	}
	pod, ok := next.(*corev1.Pod)
	if !ok {
		return nil
	}
	if old, ok := current.(*corev1.Pod); ok && old.Spec.NodeName != pod.Spec.NodeName {
		return invalid(group, current,
			field.Forbidden(field.NewPath("spec"), "pod updates may not change the node, which only a binding sets"))
	}
	return nil
}

func isLease(object runtime.Object) bool {
	_, ok := object.(*coordinationv1.Lease)
	return ok
}

// hasGeneration reports whether the API counts the changes of an object's spec.
// It does for workloads and pods, not for nodes, namespaces and leases.
func hasGeneration(object runtime.Object) bool {
	switch kindOf(object) {
	case "Pod", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job", "CronJob", "PodDisruptionBudget":
		return true
	}
	return false
}

func hasStatus(object runtime.Object) bool {
	_, ok := partOf(object, "Status")
	return ok
}

// partOf returns the field Spec or Status of an object.
func partOf(object runtime.Object, name string) (reflect.Value, bool) {
	part := reflect.ValueOf(object).Elem().FieldByName(name)
	return part, part.IsValid()
}

func keepPart(next, current runtime.Object, name string) {
	from, ok := partOf(current, name)
	if !ok {
		return
	}
	to, _ := partOf(next, name)
	to.Set(from)
}

func equalPart(next, current runtime.Object, name string) bool {
	a, ok := partOf(next, name)
	b, _ := partOf(current, name)
	return !ok || equality.Semantic.DeepEqual(a.Addr().Interface(), b.Addr().Interface())
}

// kindOf returns the kind of an object, which is the name of its type.
func kindOf(object runtime.Object) string {
	return reflect.TypeOf(object).Elem().Name()
}

func invalid(group string, object runtime.Object, fault *field.Error) error {
	kind := schema.GroupKind{Group: group, Kind: kindOf(object)}
	return apierrors.NewInvalid(kind, MetaOf(object).GetName(), field.ErrorList{fault})
}

// stored is a time as the API stores it.
func stored(now time.Time) metav1.Time {
	return metav1.NewTime(now.Truncate(time.Second))
}
