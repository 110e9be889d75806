package fleet

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

var everything = labels.Everything()

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
// for a scheduler, and it is reported ready as by a kubelet.
func (f *Fleet) AddPods(ctx context.Context, nodes []string, kinds ...Pod) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, node := range nodes {
		for _, kind := range kinds {
			group.Go(func() error { return f.addPod(ctx, node, kind) })
		}
	}
	return group.Wait()
}

func (f *Fleet) addPod(ctx context.Context, node string, kind Pod) error {
	pods := f.client.CoreV1().Pods(Namespace)
	name := PodName(kind.Name, node)
	created, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
			Tolerations: kind.Tolerations,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod %s: %w", name, err)
	}
	err = pods.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace, UID: created.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("bind pod %s: %w", name, err)
	}
	ready := fmt.Appendf(nil,
		`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]}}`,
		metav1.Now().UTC().Format("2006-01-02T15:04:05Z"))
	if _, err := pods.Patch(ctx, name, types.StrategicMergePatchType, ready, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("report pod %s ready: %w", name, err)
	}
	return nil
}

// PodName is the name of the pod of a kind on a node.
func PodName(kind, node string) string { return kind + "-" + node }

// Tolerate returns tolerations of ill nodes: for so many seconds, or for ever
// when seconds is nil.
func Tolerate(seconds *int64) []corev1.Toleration {
	var tolerations []corev1.Toleration
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerations = append(tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds,
		})
	}
	return tolerations
}
