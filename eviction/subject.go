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
	marked     bool        // it carries a true condition DisruptionTarget
	shares     []string    // of the budgets by pod
}

// Observe takes a subject as it is now, which must not be older than what was
// observed of it before. One without a place is forgotten. For a pod of the API
// server there is ObservePod.
func (t *Tracker) Observe(now time.Time, s Subject) {
	now = t.advance(now)
	if s.On == "" {
		t.ForgetPod(now, s.ID())
		return
	}
	if !t.config.LowPriorityFirst {
		s.Priority = 0
	}
	for _, b := range t.byPod {
		s.shares = append(s.shares, s.Shares[b.Name])
	}
	t.observe(now, &s)
}

// ObserveTaints takes the taints of a place that is no node of the API server;
// see ObserveNode. Functions of the Config that take a node get one that has
// just these.
func (t *Tracker) ObserveTaints(now time.Time, name string, uid types.UID, on []corev1.Taint) {
	place := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
	place.Spec.Taints = on
	t.ObserveNode(now, place)
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
