package federation

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto copies c into out. A test fills every field and wants that the
// copy shares no memory.
func (c *Cluster) DeepCopyInto(out *Cluster) {
	*out = *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Taints = copyAll(c.Spec.Taints, (*corev1.Taint).DeepCopyInto)
	out.Status.LastHeartbeatTime = c.Status.LastHeartbeatTime.DeepCopy()
	out.Status.Conditions = copyAll(c.Status.Conditions, (*metav1.Condition).DeepCopyInto)
}

// DeepCopy returns a copy of c.
func (c *Cluster) DeepCopy() *Cluster { return copyOf(c, (*Cluster).DeepCopyInto) }

// DeepCopyObject implements runtime.Object.
func (c *Cluster) DeepCopyObject() runtime.Object { return c.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *ClusterList) DeepCopyObject() runtime.Object {
	out := &ClusterList{TypeMeta: l.TypeMeta, Items: copyAll(l.Items, (*Cluster).DeepCopyInto)}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	return out
}

// DeepCopyInto copies b into out.
func (b *Binding) DeepCopyInto(out *Binding) {
	*out = *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Clusters = copyAll(b.Spec.Clusters, (*TargetCluster).DeepCopyInto)
	out.Spec.Tolerations = copyAll(b.Spec.Tolerations, (*corev1.Toleration).DeepCopyInto)
}

// DeepCopy returns a copy of b.
func (b *Binding) DeepCopy() *Binding { return copyOf(b, (*Binding).DeepCopyInto) }

// DeepCopyInto copies c into out.
func (c *TargetCluster) DeepCopyInto(out *TargetCluster) {
	*out = *c
	out.BoundAt = c.BoundAt.DeepCopy()
}

// DeepCopyObject implements runtime.Object.
func (b *Binding) DeepCopyObject() runtime.Object { return b.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *BindingList) DeepCopyObject() runtime.Object {
	out := &BindingList{TypeMeta: l.TypeMeta, Items: copyAll(l.Items, (*Binding).DeepCopyInto)}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	return out
}

func copyOf[T any](in *T, copyInto func(in, out *T)) *T {
	if in == nil {
		return nil
	}
	out := new(T)
	copyInto(in, out)
	return out
}

func copyAll[T any](in []T, copyInto func(in, out *T)) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i := range in {
		copyInto(&in[i], &out[i])
	}
	return out
}
