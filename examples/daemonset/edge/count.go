package edge

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/revision"
)

// countedPods is a client of pods that counts requests.
//
// The requests of one task come one after the other, so the count needs no
// lock.
type countedPods struct {
	inner Pods
	sent  *int
}

func (p countedPods) Create(ctx context.Context, pod *corev1.Pod, opts metav1.CreateOptions) (*corev1.Pod, error) {
	*p.sent++
	return p.inner.Create(ctx, pod, opts)
}

func (p countedPods) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error) {
	*p.sent++
	return p.inner.Get(ctx, name, opts)
}

func (p countedPods) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	*p.sent++
	return p.inner.Delete(ctx, name, opts)
}

func (p countedPods) Patch(ctx context.Context, name string, pt types.PatchType, data []byte,
	opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	*p.sent++
	return p.inner.Patch(ctx, name, pt, data, opts, subresources...)
}

// countedRevisions is a client of revisions that counts requests.
type countedRevisions struct {
	inner revision.Client
	sent  *int
}

func (r countedRevisions) Create(ctx context.Context, revision *appsv1.ControllerRevision,
	opts metav1.CreateOptions) (*appsv1.ControllerRevision, error) {
	*r.sent++
	return r.inner.Create(ctx, revision, opts)
}

func (r countedRevisions) Get(ctx context.Context, name string, opts metav1.GetOptions,
) (*appsv1.ControllerRevision, error) {
	*r.sent++
	return r.inner.Get(ctx, name, opts)
}

func (r countedRevisions) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	*r.sent++
	return r.inner.Delete(ctx, name, opts)
}

func (r countedRevisions) Patch(ctx context.Context, name string, pt types.PatchType, data []byte,
	opts metav1.PatchOptions, subresources ...string) (*appsv1.ControllerRevision, error) {
	*r.sent++
	return r.inner.Patch(ctx, name, pt, data, opts, subresources...)
}

// countedSets is a client of sets that counts requests.
type countedSets[T metav1.Object] struct {
	inner revision.OwnerClient[T]
	sent  *int
}

func (s countedSets[T]) Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error) {
	*s.sent++
	return s.inner.Get(ctx, name, opts)
}

func (s countedSets[T]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte,
	opts metav1.PatchOptions, subresources ...string) (T, error) {
	*s.sent++
	return s.inner.Patch(ctx, name, pt, data, opts, subresources...)
}
