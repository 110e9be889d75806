package eviction

import (
	corev1 "k8s.io/api/core/v1"
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

// podState is where a pod is in its eviction:
//
//	staying ◄───► pending ───Start───► evicting ──evicted──► accepted
//	   ▲             ▲ ▲                  │  │
//	   │             │ └──not evicted─────┘  └──seen by a dry run──► reported
//	   └► onHold ◄───┘   (or staying, onHold)
//
// A pod that is observed to be terminating goes to leaving, at the end of its
// action if there is one. What is observed later is the truth: one that is not
// terminating any more was restored from a backup, and is decided again. So is
// an accepted pod that is not observed to be terminating for the longest wait,
// because the watch may only have been behind until then, and a reported one
// whose decision changes. A pod on hold for which something else is due is
// handed out too. Tracker.enter is the one function that writes the state.
type podState uint8

const (
	// staying: nothing is to be done.
	staying podState = iota
	// pending: the pod has a deadline.
	pending
	// onHold: the deadline has passed, and what it is about is held.
	onHold
	// evicting: handed out.
	evicting
	// reported: a dry run has reported the pod. It is not handed out again before
	// the reason or the time of its decision changes.
	reported
	// accepted: the API server has accepted the eviction, or says that the pod is
	// gone, and it has yet to be observed.
	accepted
	// leaving: the pod was observed to be terminating.
	leaving
)

func (s podState) String() string {
	return [...]string{
		"staying", "pending", "onHold", "evicting", "reported", "accepted", "leaving",
	}[s]
}

// goes reports whether the pod is on its way out, as far as is known.
func (s podState) goes() bool { return s == accepted || s == leaving }

// waits reports whether the pod is to be evicted.
func (s podState) waits() bool { return s == pending || s == onHold || s == evicting }
