package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// server answers the calls of one case.
type server struct {
	client    kubernetes.Interface
	namespace string
}

// typed are the methods that all typed clients share.
type typed[T, L runtime.Object] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// do sends a call other than a watch. The object is nil when the answer has
// none.
func (s server) do(ctx context.Context, call Call) (runtime.Object, error) {
	switch call.Verb {
	case VerbBind:
		var binding corev1.Binding
		if err := decode(call, &binding); err != nil {
			return nil, err
		}
		binding.Name, binding.Namespace = call.Name, s.namespace
		return nil, s.client.CoreV1().Pods(s.namespace).Bind(ctx, &binding, metav1.CreateOptions{})
	case VerbEvict:
		var eviction policyv1.Eviction
		if err := decode(call, &eviction); err != nil {
			return nil, err
		}
		eviction.Name, eviction.Namespace = call.Name, s.namespace
		if call.DryRun {
			eviction.DeleteOptions = &metav1.DeleteOptions{DryRun: dryRun(call)}
		}
		return nil, s.client.PolicyV1().Evictions(s.namespace).Evict(ctx, &eviction)
	}
	switch call.Resource {
	case ResourceNodes:
		api := s.client.CoreV1().Nodes()
		return send(ctx, call, api, api.UpdateStatus, &corev1.Node{})
	case ResourcePods:
		api := s.client.CoreV1().Pods(s.namespace)
		return send(ctx, call, api, api.UpdateStatus, &corev1.Pod{})
	case ResourceLeases:
		api := s.client.CoordinationV1().Leases(s.namespace)
		return send(ctx, call, api, nil, &coordinationv1.Lease{})
	case ResourceBudgets:
		api := s.client.PolicyV1().PodDisruptionBudgets(s.namespace)
		return send(ctx, call, api, api.UpdateStatus, &policyv1.PodDisruptionBudget{})
	}
	return nil, fmt.Errorf("the table has no resource %q", call.Resource)
}

func (s server) watch(ctx context.Context, call Call) (watch.Interface, error) {
	var options metav1.ListOptions
	if err := decode(call, &options); err != nil {
		return nil, err
	}
	switch call.Resource {
	case ResourceNodes:
		return s.client.CoreV1().Nodes().Watch(ctx, options)
	case ResourcePods:
		return s.client.CoreV1().Pods(s.namespace).Watch(ctx, options)
	}
	return nil, fmt.Errorf("the table watches no %s", call.Resource)
}

func send[T interface {
	runtime.Object
	SetName(string)
}, L runtime.Object](
	ctx context.Context, call Call, api typed[T, L],
	updateStatus func(context.Context, T, metav1.UpdateOptions) (T, error), object T,
) (runtime.Object, error) {
	switch call.Verb {
	case VerbGet:
		return answered(api.Get(ctx, call.Name, metav1.GetOptions{}))
	case VerbList:
		var options metav1.ListOptions
		if err := decode(call, &options); err != nil {
			return nil, err
		}
		return answered(api.List(ctx, options))
	case VerbCreate:
		if err := decode(call, object); err != nil {
			return nil, err
		}
		object.SetName(call.Name)
		return answered(api.Create(ctx, object, metav1.CreateOptions{DryRun: dryRun(call)}))
	case VerbUpdate:
		if err := decode(call, object); err != nil {
			return nil, err
		}
		object.SetName(call.Name)
		update := api.Update
		if call.Subresource == "status" {
			update = updateStatus
		}
		return answered(update(ctx, object, metav1.UpdateOptions{DryRun: dryRun(call)}))
	case VerbPatch:
		var subresources []string
		if call.Subresource != "" {
			subresources = []string{call.Subresource}
		}
		return answered(api.Patch(ctx, call.Name, call.PatchType, []byte(call.Body),
			metav1.PatchOptions{DryRun: dryRun(call)}, subresources...))
	case VerbDelete:
		var options metav1.DeleteOptions
		if err := decode(call, &options); err != nil {
			return nil, err
		}
		options.DryRun = dryRun(call)
		return nil, api.Delete(ctx, call.Name, options)
	}
	return nil, fmt.Errorf("the table has no verb %q for %s", call.Verb, call.Resource)
}

// answered drops the empty object that typed clients return with an error.
func answered[T runtime.Object](object T, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return object, nil
}

func decode(call Call, into any) error {
	if call.Body == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(call.Body), into); err != nil {
		return fmt.Errorf("body of a %s of %s: %w", call.Verb, call.Resource, err)
	}
	return nil
}

func dryRun(call Call) []string {
	if call.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}
