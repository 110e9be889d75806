package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Key is the identity of a pod. A pod that was deleted and created again under
// its name is another pod.
type Key struct {
	Namespace, Name string
	UID             types.UID
}

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// KeyOf returns the identity of a pod.
func KeyOf(pod *corev1.Pod) Key { return Key{pod.Namespace, pod.Name, pod.UID} }

// ID is what a [Tracker] knows the pod by, which is its UID. An object that no
// API server has stored may have none. Then ID is the namespace and name with a
// slash between them, which no UID contains.
func (k Key) ID() types.UID {
	if k.UID == "" {
		return types.UID(k.String())
	}
	return k.UID
}

// A Subject is what tolerates the taints of a place, and leaves it when it does
// not: a workload on a cluster, an allocation of a device, a pod on a node. What
// is in several places is a Subject in each, with a UID of its own in each.
type Subject struct {
	Key
	// On is the name of the place. Required.
	On string
	// Tolerations must not be changed afterwards: they are kept, not copied.
	Tolerations []corev1.Toleration
	// Since is when it came to its place, as it is stored. Nil is when it was first
	// seen. See [StartTime].
	Since *metav1.Time
	// Leaving says that it is on its way out, so that there is nothing to do.
	Leaving bool
	// Exempt says that nothing makes it leave.
	Exempt bool
	// OfPlace says that EvictNode does not make it leave, because it would come
	// back, as a pod of a DaemonSet does.
	OfPlace bool
	// Priority is what Config.LowPriorityFirst compares.
	Priority int32
	// Shares are its shares of the budgets with BySubject, by their names.
	Shares map[string]string

	pod        *corev1.Pod // that it is, or nil
	generation int32       // of a pod
	marked     bool        // a true condition DisruptionTarget is on it
	shares     []string    // of the budgets by pod
}

// kind is what matters of a subject besides its tolerations.
func (s *Subject) kind() podKind {
	switch {
	case s.Exempt:
		return exempt
	case s.OfPlace:
		return ofNode
	}
	return ordinary
}

// since returns Since. To search a pod's conditions for it costs as much as the
// rest of an observation, and is needed once.
func (s *Subject) since() *metav1.Time {
	if s.pod != nil {
		return boundAt(s.pod)
	}
	return s.Since
}

// terminatedBy returns when the grace period of what is leaving ends. That of a
// pod ends at its deletionTimestamp, by the clock of the API server. Where that
// clock is ahead, it counts from now.
func (s *Subject) terminatedBy(now time.Time) time.Time {
	if s.pod == nil {
		return now
	}
	ends := now.Add(s.pod.DeletionTimestamp.Sub(now))
	if seconds := s.pod.DeletionGracePeriodSeconds; seconds != nil {
		ends = earlier(ends, now.Add(granted(*seconds)))
	}
	return ends
}
