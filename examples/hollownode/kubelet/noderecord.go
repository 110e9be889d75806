package kubelet

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// noRound is the count of visited pods of a node that has no round.
const noRound = -1

// nodeRecord is a node and its pods, the oldest first.
type nodeRecord struct {
	name string
	node *corev1.Node // nil until it is observed
	pods []*podRecord
	// life counts the starts of its kubelet, and started is when the last was.
	life    uint64
	started time.Time
	// compares is when it first compares the statuses of its pods with what the
	// API shows. It does so again after each reconcilePeriod.
	compares time.Time
	// searching tells that its node has not been Ready since its start, and was
	// not before.
	searching bool
	// starting tells that its start is still to be told in an event, and
	// registered that its object is new.
	starting, registered bool
	// visited is how many pods its round has visited, or noRound.
	visited int
	used    usage

	faults Faults
	loop   loopState
	// networkDown tells that the last check has found no network.
	networkDown bool
	// lastGood is the last good check and stoppedAt when the loop has stopped,
	// when the loop does not run. lastRelist is the last one of all pods, when
	// the runtime does not answer.
	lastGood, stoppedAt, lastRelist time.Time
	// bootID is that of the present boot; empty is that of its name and faults.
	bootID string
	// unregistered is the object to create, or nil.
	unregistered *corev1.Node

	// static are the static pods that it is to run, as of the version configured.
	// mirrors are the mirror pods in the API. Both are nil without any.
	static     map[types.NamespacedName]*corev1.Pod
	configured uint64
	mirrors    map[types.NamespacedName]*mirror
}

// insert adds a pod to those of its node, which are in the order of their
// creation, as the kubelet admits them. It returns its place.
func (n *nodeRecord) insert(r *podRecord) int {
	i, _ := slices.BinarySearchFunc(n.pods, r, func(a, b *podRecord) int {
		return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), -1)
	})
	n.pods = slices.Insert(n.pods, i, r)
	return i
}

// wants reports whether a node is to run this static pod.
func (n *nodeRecord) wants(pod *corev1.Pod) bool {
	wanted, found := n.static[nameOf(pod)]
	return found && wanted.UID == pod.UID
}

// ending reports whether a static pod of a name, except one, is ending because
// it is no longer configured.
func (n *nodeRecord) ending(name types.NamespacedName, except types.UID) bool {
	return slices.ContainsFunc(n.pods, func(r *podRecord) bool {
		return r.api == apiGone && r.state < workerFinished && r.pod.UID != except &&
			isStatic(r.pod) && nameOf(r.pod) == name
	})
}

// hears reports whether the API server and a node can reach each other.
func (n *nodeRecord) hears() bool { return !n.faults.Silent }

// heeds reports whether a node acts on what the API server wants.
func (n *nodeRecord) heeds() bool { return n.hears() && n.loop != loopStopped }

// reconcilePeriod is how long a status that differs in the API stays so at
// most. Source: syncPeriod in pkg/kubelet/status, v1.37.1.
const reconcilePeriod = 10 * time.Second

// nextCompare returns when the node next compares its statuses. These are times
// of its own, as the loop of a kubelet has them, and no wait after each change.
// A thousand nodes that return at once would restore theirs in one burst then.
// And a client that goes on writing would postpone that for ever.
func (n *nodeRecord) nextCompare(now time.Time) time.Time {
	if now.Before(n.compares) {
		return n.compares
	}
	return now.Add(reconcilePeriod - now.Sub(n.compares)%reconcilePeriod)
}

// ip returns the internal IP of a node: that of its object or else its own.
func (n *nodeRecord) ip() string {
	if n.node != nil {
		for _, a := range n.node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address
			}
		}
	}
	h := hashOf("ip", n.name)
	// 100.64.0.0/10 is for what no other network knows (RFC 6598).
	return fmt.Sprintf("100.%d.%d.%d", 64|h>>16&63, h>>8&255, h&255)
}

// dropNode forgets a node that is not observed, when it has no pods and is not
// to register.
func (f *Fleet) dropNode(n *nodeRecord) {
	if len(n.pods)+len(n.mirrors) == 0 && n.unregistered == nil {
		f.queue.Remove(dueKey{node: n.name, kind: dueRelist})
		delete(f.nodes, n.name)
	}
}

// identity returns an ID in the form of a UUID that follows from its parts.
func identity(parts ...string) string {
	a, b := hashOf(append(parts, "a")...), hashOf(append(parts, "b")...)
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", uint32(a>>32), uint16(a>>16), uint16(a), uint16(b>>48), b&(1<<48-1))
}

func hashOf(parts ...string) uint64 {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = h.Write(append([]byte(part), 0)) // it returns no error
	}
	return h.Sum64()
}
