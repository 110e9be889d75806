package apiserver

import (
	"fmt"
	"reflect"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// filter selects objects by namespace, labels and fields. The zero value of
// namespace selects every namespace.
type filter struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

// filter reads the selectors of a list or watch. A field that the resource does
// not offer is 400, as on a real server.
func (s *Server) filter(gvr schema.GroupVersionResource, options metav1.ListOptions) (filter, error) {
	f := filter{labels: labels.Everything(), fields: fields.Everything()}
	var err error
	if options.LabelSelector != "" {
		if f.labels, err = labels.Parse(options.LabelSelector); err != nil {
			return filter{}, apierrors.NewBadRequest(err.Error())
		}
	}
	if options.FieldSelector == "" {
		return f, nil
	}
	if f.fields, err = fields.ParseSelector(options.FieldSelector); err != nil {
		return filter{}, apierrors.NewBadRequest(err.Error())
	}
	empty, err := s.kinds.new(gvr)
	if err != nil {
		return filter{}, err
	}
	offered := fieldsOf(empty)
	for _, requirement := range f.fields.Requirements() {
		if !offered.Has(requirement.Field) {
			return filter{}, apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return f, nil
}

func (f filter) matches(object runtime.Object) bool {
	m := MetaOf(object)
	if f.namespace != "" && m.GetNamespace() != f.namespace {
		return false
	}
	if !f.labels.Matches(labels.Set(m.GetLabels())) {
		return false
	}
	return f.fields.Empty() || f.fields.Matches(fieldsOf(object))
}

// fieldsOf returns the fields that the API lets clients select by: name and
// namespace everywhere, more for pods, nodes and events.
func fieldsOf(object runtime.Object) fields.Set {
	m := MetaOf(object)
	set := fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}
	switch o := object.(type) {
	case *corev1.Pod:
		podFields(set, o)
	case *corev1.Node:
		set["spec.unschedulable"] = strconv.FormatBool(o.Spec.Unschedulable)
	case *corev1.Event:
		eventFields(set, o)
	}
	return set
}

func podFields(set fields.Set, pod *corev1.Pod) {
	set["spec.nodeName"] = pod.Spec.NodeName
	set["spec.restartPolicy"] = string(pod.Spec.RestartPolicy)
	set["spec.schedulerName"] = pod.Spec.SchedulerName
	set["spec.serviceAccountName"] = pod.Spec.ServiceAccountName
	set["spec.hostNetwork"] = strconv.FormatBool(pod.Spec.HostNetwork)
	set["status.phase"] = string(pod.Status.Phase)
	set["status.podIP"] = pod.Status.PodIP
	set["status.nominatedNodeName"] = pod.Status.NominatedNodeName
}

func eventFields(set fields.Set, event *corev1.Event) {
	set["involvedObject.kind"] = event.InvolvedObject.Kind
	set["involvedObject.namespace"] = event.InvolvedObject.Namespace
	set["involvedObject.name"] = event.InvolvedObject.Name
	set["involvedObject.uid"] = string(event.InvolvedObject.UID)
	set["involvedObject.apiVersion"] = event.InvolvedObject.APIVersion
	set["involvedObject.resourceVersion"] = event.InvolvedObject.ResourceVersion
	set["involvedObject.fieldPath"] = event.InvolvedObject.FieldPath
	set["reason"] = event.Reason
	set["reportingComponent"] = event.ReportingController
	set["source"] = event.Source.Component
	if event.Source.Component == "" {
		set["source"] = event.ReportingController
	}
	set["type"] = event.Type
}

// kinds finds the type of a resource when a request does not bring an object.
type kinds struct {
	types *runtime.Scheme
	of    map[schema.GroupVersionResource]schema.GroupVersionKind
}

// kindsOf derives the plural names of all types with metadata, by the rule that
// the API's own names follow.
func kindsOf(types *runtime.Scheme) kinds {
	k := kinds{types, map[schema.GroupVersionResource]schema.GroupVersionKind{}}
	for gvk, goType := range types.AllKnownTypes() {
		if !reflect.PointerTo(goType).Implements(reflect.TypeFor[metav1.Object]()) {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		k.of[plural] = gvk
	}
	return k
}

func (k kinds) new(gvr schema.GroupVersionResource) (runtime.Object, error) {
	gvk, ok := k.of[gvr]
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("no type is known for %s", gvr))
	}
	return k.types.New(gvk)
}
