package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// Pod is a kind of pod; every node gets one of it.
type Pod struct {
	// Name is the first part of the pods' names; the node's is the second.
	Name string
	// Tolerations are exactly those of the pods except the defaults that the API
	// server adds where one for not-ready or unreachable is missing.
	Tolerations []corev1.Toleration
}

// Namespace is where the pods are.
const Namespace = metav1.NamespaceDefault

// AddPods creates a pod of each kind on each of the nodes. The API binds it as
// for a scheduler. It returns when the kubelets have reported that all of them
// run. So Run must have been called, and no node be cut off.
func (f *Fleet) AddPods(ctx context.Context, nodes []string, kinds ...Pod) error {
	added := map[string]bool{}
	for _, node := range nodes {
		for _, kind := range kinds {
			added[PodName(kind.Name, node)] = true
		}
	}
	if err := sidebyside.Each(ctx, len(added), func(ctx context.Context, i int) error {
		return f.addPod(ctx, nodes[i/len(kinds)], kinds[i%len(kinds)])
	}); err != nil {
		return err
	}
	pods := f.client.CoreV1().Pods(Namespace)
	return wait.Until(ctx, "all pods to run", func(ctx context.Context) error {
		others, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "status.phase!=Running"})
		if err != nil {
			return err
		}
		for i := range others.Items {
			if pod := &others.Items[i]; added[pod.Name] {
				return fmt.Errorf("pod %s is %s: %s", pod.Name, pod.Status.Phase, pod.Status.Message)
			}
		}
		return nil
	})
}

func (f *Fleet) addPod(ctx context.Context, node string, kind Pod) error {
	name := PodName(kind.Name, node)
	pod, err := f.client.CoreV1().Pods(Namespace).
		Create(ctx, NewPod(name, kind.Name, kind.Tolerations...), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod %s: %w", name, err)
	}
	return Bind(ctx, f.client, pod, node)
}

// AppLabel is the label of the pods of a kind.
const AppLabel = "app"

// NewPod returns a pod of a kind, with one container.
func NewPod(name, kind string, tolerations ...corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{AppLabel: kind}},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
			Tolerations: tolerations,
		},
	}
}

// Bind binds a pod to a node as a scheduler does.
func Bind(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, node string) error {
	err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("bind pod %s: %w", pod.Name, err)
	}
	return nil
}

// PodName is the name of the pod of a kind on a node.
func PodName(kind, node string) string { return kind + "-" + node }

// Forever is the time for which a pod tolerates a taint that need never leave.
const Forever time.Duration = -1

// Seconds returns a time as tolerations have it.
func Seconds(tolerates time.Duration) *int64 {
	if tolerates == Forever {
		return nil
	}
	return new(int64(tolerates / time.Second))
}

// Tolerate returns tolerations of taints, or of those of ill nodes if no key is
// named: for so many seconds, or for ever when seconds is nil.
func Tolerate(seconds *int64, keys ...string) []corev1.Toleration {
	if len(keys) == 0 {
		keys = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}
	}
	var tolerations []corev1.Toleration
	for _, key := range keys {
		tolerations = append(tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds,
		})
	}
	return tolerations
}

// IsReady reports whether a pod has the condition Ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
