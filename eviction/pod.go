package eviction

import (
	"math/bits"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// entry is a pod's place in the queue of evictions, with its record.
type entry = timedqueue.Entry[types.UID, pod]

// pod is the record of a pod. A tracker may hold a million, so times are
// distances from the tracker's epoch, and what pods have in common is in traits.
// With eight bytes more an entry would take 112 instead of 96.
type pod struct {
	name    string
	node    *node
	traits  *traits
	arrived time.Duration // as in Pod
	slot    uint32        // in node.pods
	state   podState

	// What the object and the config say:
	kind   podKind
	marked bool // carries a true condition DisruptionTarget

	noted bool // is in attempts.notes
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
// handed out too. stages.enter is the one function that writes the state.
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

// podKind is what matters of a pod besides its tolerations.
type podKind uint8

const (
	// ordinary: it leaves when it must.
	ordinary podKind = iota
	// ofNode: it would come back to its node, because a DaemonSet controls it or
	// it mirrors a static pod. It stays when its node is emptied.
	ofNode
	// exempt: Config.Exempt exempts it.
	exempt
)

func (k podKind) String() string {
	return [...]string{"ordinary", "ofNode", "exempt"}[k]
}

// entry returns the entry of a pod that is known, given a copy of its record.
func (p *pod) entry() *entry { return p.node.pods[p.slot] }

// key returns the identity of the pod with an ID.
func (p *pod) key(id types.UID) Key {
	key := Key{Namespace: p.traits.namespace, Name: p.name}
	if len(id) == len(key.Namespace)+len("/")+len(key.Name) && id == key.ID() {
		return key // it has no UID
	}
	key.UID = id
	return key
}

// nodeEviction returns the eviction of the pod's whole node that concerns it. A
// pod of a DaemonSet would come back and stays.
func (p *pod) nodeEviction() *request {
	if p.kind == ofNode {
		return nil
	}
	return p.node.eviction
}

// traits are what a pod has in common with others. Most of a million pods are
// replicas of a few thousand, so those with the same traits share one record. It
// is never changed: tasks refer to it.
type traits struct {
	namespace   string
	tolerations []corev1.Toleration
	generation  int32    // the API's has 64 bits but counts edits of a spec
	priority    int32    // zero unless Config.LowPriorityFirst
	shares      []string // of the budgets by pod
}

// areOf reports whether a subject has these traits.
func (t *traits) areOf(s *Subject) bool {
	return t.generation == s.generation && t.namespace == s.Namespace &&
		sameTolerations(t.tolerations, s.Tolerations) && t.waitAs(s)
}

// waitAs reports whether a subject has those of them that say where it waits.
func (t *traits) waitAs(s *Subject) bool {
	return t.priority == s.Priority && slices.Equal(t.shares, s.shares)
}

func sameTolerations(a, b []corev1.Toleration) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] { // a resync shows the same object again
		return true
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if !x.MatchToleration(y) || !sameSeconds(x.TolerationSeconds, y.TolerationSeconds) {
			return false
		}
	}
	return true
}

func sameSeconds(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// recentTraits are those of the subjects that were observed last, each in the
// place of its hash. An exact set would have to count its users. Traits that
// were overwritten here only cost the memory of another record.
type recentTraits [1 << recentBits]*traits

const recentBits = 10

// of returns a record of the traits of a subject. It has a copy of the
// tolerations: others decide by them too, also when the subject is forgotten and
// its caller may use their memory again.
func (r *recentTraits) of(s *Subject) *traits {
	place := &r[s.hash()]
	if *place == nil || !(*place).areOf(s) {
		tolerations := slices.Clone(s.Tolerations)
		for i := range tolerations {
			s.Tolerations[i].DeepCopyInto(&tolerations[i])
		}
		*place = &traits{
			namespace: s.Namespace, tolerations: tolerations, generation: s.generation,
			priority: s.Priority, shares: s.shares,
		}
	}
	return *place
}

// hash returns the place of the traits of a subject. It reads what differs most,
// and no keys of tolerations. What differs in these alone takes turns at one
// place.
func (s *Subject) hash() uint32 {
	hash := uint32(s.generation) ^ uint32(s.Priority)<<16
	for i := range s.Tolerations {
		seconds := int64(-1)
		if granted := s.Tolerations[i].TolerationSeconds; granted != nil {
			seconds = *granted
		}
		hash = bits.RotateLeft32(hash, 5) ^ uint32(seconds)
	}
	for _, share := range s.shares {
		hash = mix(hash, share)
	}
	return mix(hash, s.Namespace) * 2654435769 >> (32 - recentBits) // 2³² divided by the golden ratio
}

// mix is a quicker hash than FNV, and not as good.
func mix(hash uint32, text string) uint32 {
	for i := range len(text) {
		hash = bits.RotateLeft32(hash, 5) ^ uint32(text[i])
	}
	return hash
}
