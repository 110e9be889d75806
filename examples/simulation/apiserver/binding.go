package apiserver

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubelife/lifecycle/examples/process/apipatch"
)

// Bind puts a pod on a node, as a scheduler asks for it: spec.nodeName, the
// condition PodScheduled, and the binding's labels and annotations. A pod is
// bound once; the binding's UID and resourceVersion are preconditions. Whether
// the node exists is not checked.
func (s *Server) Bind(now time.Time, namespace string, object runtime.Object) error {
	binding, ok := object.(*corev1.Binding)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("not a Binding object: %T", object))
	}
	if binding.Target.Name == "" {
		return failure("target.name: Required value")
	}
	if binding.Target.Kind != "" && binding.Target.Kind != "Node" {
		return failure("target.kind: Unsupported value: " + binding.Target.Kind)
	}
	k := Key{namespace, binding.Name}
	for {
		current, ok := s.store.Get(pods, k)
		if !ok {
			return apierrors.NewNotFound(pods.GroupResource(), k.Name)
		}
		next, err := bound(current, binding, stored(now))
		if err != nil {
			return err
		}
		if s.store.Commit(Change{Resource: pods, Key: k, At: now, Old: current, Next: next}) {
			return nil
		}
	}
}

func bound(current runtime.Object, binding *corev1.Binding, at metav1.Time) (*corev1.Pod, error) {
	pod, ok := current.DeepCopyObject().(*corev1.Pod)
	if !ok {
		return nil, apierrors.NewInternalError(apipatch.ErrNotObject)
	}
	if binding.UID != "" && binding.UID != pod.UID {
		return nil, conflictingUID(pods, binding, pod)
	}
	if err := bindable(pod, binding); err != nil {
		resource := pods.GroupResource()
		resource.Resource += "/binding"
		return nil, apierrors.NewConflict(resource, pod.Name, err)
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Status.NominatedNodeName = ""
	for name, value := range binding.Labels {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, name, value)
	}
	for name, value := range binding.Annotations {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, name, value)
	}
	setScheduled(&pod.Status, at)
	return pod, nil
}

func bindable(pod *corev1.Pod, binding *corev1.Binding) error {
	switch {
	case binding.ResourceVersion != "" && binding.ResourceVersion != pod.ResourceVersion:
		return fmt.Errorf("the resourceVersion of the binding (%s) is not that of the pod (%s)",
			binding.ResourceVersion, pod.ResourceVersion)
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	return nil
}

// setScheduled makes PodScheduled true. Its transition is when the pod arrived
// on the node, which eviction deadlines depend on.
func setScheduled(pod *corev1.PodStatus, at metav1.Time) {
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at}
	for i, condition := range pod.Conditions {
		if condition.Type != corev1.PodScheduled {
			continue
		}
		if condition.Status == corev1.ConditionTrue {
			scheduled.LastTransitionTime = condition.LastTransitionTime
		}
		pod.Conditions[i] = scheduled
		return
	}
	pod.Conditions = append(pod.Conditions, scheduled)
}
