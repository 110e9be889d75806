package eviction_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// What can happen to the cluster of a schedule.

var (
	nodeNames  = []string{"n1", "n2", "n3"}
	taintKeys  = []string{notReady, unreachable, "a", "b"}
	someValues = []string{"", "", "x"}
)

func (s *schedule) observeNode(name string) {
	node := s.nodes[name].DeepCopy()
	s.say("observe %s %s in %s %v", name, node.UID, node.Labels["zone"], describe(node.Spec.Taints))
	before := s.history.spells(name)
	s.tracker.ObserveNode(s.told(), node)
	writeDown(s.history, s.history.nodes, name, node, s.now, false)
	s.history.zones[name] = node.Labels["zone"]
	if since, awaited := s.history.awaited[name]; awaited {
		delete(s.history.awaited, name)
		s.reached["awaited"]++
		writeDown(s.history, s.history.evicted, name, true, since, false)
	}
	s.count(before, s.history.spells(name))
}

// count counts what is worth reaching.
func (s *schedule) count(before, after []spell) {
	for _, now := range after {
		for _, old := range before {
			switch {
			case old.taint.Key == now.taint.Key && old.start.Before(now.start):
				s.reached["set again"]++
			case old.taint.Key != now.taint.Key && old.start.Equal(now.start) && old.start.Before(now.seen):
				s.reached["lineage goes on"]++
			}
		}
	}
}

func (s *schedule) observePod(uid types.UID) {
	pod := s.pods[uid].DeepCopy()
	s.say("observe %s %s on %s tolerating %v, conditions %v, labels %v, owners %v, deleted=%v",
		pod.Name, uid, pod.Spec.NodeName,
		describeTolerations(pod.Spec.Tolerations), pod.Status.Conditions, pod.Labels,
		len(pod.OwnerReferences), pod.DeletionTimestamp)
	if _, acting := s.inFlight[uid]; acting && pod.DeletionTimestamp != nil {
		s.reached["terminating during its action"]++
	}
	s.tracker.ObservePod(s.told(), pod)
	writeDown(s.history, s.history.pods, uid, pod, s.now, false)
}

func describe(taints []corev1.Taint) (out []string) {
	for _, taint := range taints {
		line := taint.ToString()
		if taint.TimeAdded != nil {
			line += fmt.Sprintf("@%v", taint.TimeAdded.Sub(at(0)).Seconds())
		}
		out = append(out, line)
	}
	return out
}

func describeTolerations(tolerations []corev1.Toleration) (out []string) {
	for i, toleration := range tolerations {
		if i > 0 && toleration == tolerations[i-1] {
			continue
		}
		line := toleration.Key + string(toleration.Operator) + toleration.Value
		if toleration.TolerationSeconds != nil {
			line += fmt.Sprintf(":%d", *toleration.TolerationSeconds)
		}
		out = append(out, line)
	}
	return out
}

// changeNode changes a node once or more, of which we see the last.
func (s *schedule) changeNode() {
	name := pick(s, nodeNames...)
	node := s.nodes[name]
	if node == nil || s.chance(3) {
		s.uids++
		node = newNode(name)
		node.UID = types.UID(fmt.Sprintf("%s-%d", name, s.uids))
		s.nodes[name] = node
	}
	for range pick(s, 1, 1, 1, 2, 3) {
		s.retaint(node)
	}
	if s.chance(30) {
		node.Labels = map[string]string{"zone": pick(s, "east", "west")}
	}
	if s.tracker == nil || s.chance(5) {
		return // we have not heard of it yet
	}
	s.observeNode(name)
	if !s.history.synced && s.chance(50) {
		s.synced()
	}
}

func (s *schedule) retaint(node *corev1.Node) {
	list := node.Spec.Taints
	i := -1
	if len(list) > 0 {
		i = s.random.IntN(len(list))
	}
	switch n := s.random.IntN(10); {
	case i < 0 || n < 4:
		key := pick(s, taintKeys...)
		list = slices.DeleteFunc(list, func(t corev1.Taint) bool { return t.Key == key })
		taint := corev1.Taint{Key: key, Value: pick(s, someValues...),
			Effect: corev1.TaintEffectNoExecute, TimeAdded: s.timeAdded()}
		if s.chance(10) {
			taint.Effect = corev1.TaintEffectNoSchedule
		}
		list = slices.Insert(list, s.random.IntN(len(list)+1), taint)
	case n < 6:
		list = slices.Delete(list, i, i+1)
	case n < 7:
		list[i].TimeAdded = s.timeAdded()
	case n < 8:
		list[i].Value = pick(s, someValues...)
	default:
		list = s.swap(list)
	}
	node.Spec.Taints = list
}

// swap replaces not-ready by unreachable or the other way, or has both, with
// the time carried over or with a new one.
func (s *schedule) swap(list []corev1.Taint) []corev1.Taint {
	for i := range list {
		other := list[i]
		switch list[i].Key {
		case notReady:
			other.Key = unreachable
		case unreachable:
			other.Key = notReady
		default:
			continue
		}
		if s.chance(50) {
			other.TimeAdded = s.timeAdded()
		}
		list = slices.DeleteFunc(list, func(t corev1.Taint) bool {
			return t.Key == other.Key ||
				s.chance(80) && t.Key != "a"
		})
		return append(list, other)
	}
	return list
}

func (s *schedule) timeAdded() *metav1.Time {
	ago := pick(s, 0, 0, 0, 0, time.Second, 9*time.Second, 11*time.Second, 60*time.Second, time.Hour,
		-2*time.Second, -30*time.Second)
	added := metav1.NewTime(s.now.Add(-ago).Truncate(time.Second))
	switch s.random.IntN(12) {
	case 0:
		return nil
	case 1:
		return &metav1.Time{}
	}
	return &added
}

func (s *schedule) tolerations() []corev1.Toleration {
	var list []corev1.Toleration
	for range s.random.IntN(4) {
		toleration := corev1.Toleration{Key: pick(s, taintKeys...), Operator: corev1.TolerationOpExists}
		switch s.random.IntN(5) {
		case 0:
			toleration.Key = ""
		case 1:
			toleration.Operator, toleration.Value = corev1.TolerationOpEqual, pick(s, someValues...)
		}
		if s.chance(85) {
			seconds := pick[int64](s, -1, 0, 1, 2, 5, 10, 30, 60)
			toleration.TolerationSeconds = &seconds
		}
		list = append(list, toleration)
	}
	if s.chance(40) { // so that not all is due at once
		seconds := pick[int64](s, 3, 20, 40)
		list = append(list, corev1.Toleration{Operator: corev1.TolerationOpExists,
			TolerationSeconds: &seconds})
	}
	return list
}

// createPod binds a new pod. It may have the name of one that is there.
func (s *schedule) createPod() {
	s.uids++
	uid := types.UID(fmt.Sprintf("uid-%02d", s.uids))
	pod := newPod(fmt.Sprintf("pod-%d", s.random.IntN(5)), withUID(uid), on(pick(s, nodeNames...)))
	if other := types.UID("ns/" + pod.Name); s.pods[other] == nil && s.chance(15) {
		uid, pod.UID = other, ""
	}
	pod.Spec.Tolerations = s.tolerations()
	boundAt := metav1.NewTime(s.now.Add(-pick(s, 0, 0, time.Second, 11*time.Second, time.Minute,
		-3*time.Second)).Truncate(time.Second))
	pod.Status.Conditions[0].LastTransitionTime = boundAt
	switch s.random.IntN(10) {
	case 0:
		unbound(pod)
	case 1:
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
	case 2:
		marked(pod)
	case 3:
		pod.Labels = map[string]string{"exempt": "yes"}
	case 4:
		ofDaemonSet(pod)
	}
	s.relabel(pod)
	s.pods[uid] = pod
	if s.tracker != nil {
		s.observePod(uid)
	}
}

func (s *schedule) somePod() (types.UID, bool) {
	if len(s.pods) == 0 {
		return "", false
	}
	return pick(s, slices.Sorted(maps.Keys(s.pods))...), true
}

func (s *schedule) changePod() {
	uid, ok := s.somePod()
	if !ok {
		return
	}
	pod := s.pods[uid].DeepCopy()
	if s.chance(30) {
		s.relabel(pod)
	}
	switch s.random.IntN(13) {
	case 0:
		terminating(pod)
	case 1:
		pod.Labels = map[string]string{"exempt": pick(s, "yes", "no")}
	case 12: // nothing else
	case 2, 3:
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions,
			func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
		disrupted(pick(s, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
			pick(s, "DeletionByTaintManager", "Other"))(pod)
	case 4:
		pod.Status.Conditions = nil
	case 5:
		bound(s.now.Sub(at(0)).Seconds())(pod)
	case 6:
		s.say("forget %s for a moment", uid)
		s.forgetPod(uid)
	default:
		pod.Spec.Tolerations = s.tolerations()
	}
	s.pods[uid] = pod
	s.observePod(uid)
}

func (s *schedule) forgetPod(uid types.UID) {
	if s.history.podStay(uid) == nil {
		return
	}
	s.tracker.ForgetPod(s.now, uid)
	writeDown(s.history, s.history.pods, uid, nil, s.now, true)
	delete(s.history.waits, uid)
	delete(s.history.reported, uid)
	s.history.dropZones()
}

func (s *schedule) removePod() {
	if uid, ok := s.somePod(); ok {
		s.say("forget %s", uid)
		delete(s.pods, uid)
		s.forgetPod(uid)
	}
}

func (s *schedule) removeNode() {
	name := pick(s, nodeNames...)
	delete(s.nodes, name)
	if s.history.nodeStay(name) != nil {
		s.say("forget %s", name)
		s.tracker.ForgetNode(s.told(), name)
		writeDown(s.history, s.history.nodes, name, nil, s.now, true)
		s.history.dropZones()
	}
}

// relabel gives a pod another team and another priority.
func (s *schedule) relabel(pod *corev1.Pod) {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels["team"] = pick(s, "red", "blue")
	withPriority(pick[int32](s, 0, 100))(pod)
}

// evictNode says of a whole node that it is evicted, or takes that back.
func (s *schedule) evictNode() {
	name, evicted := pick(s, nodeNames...), s.chance(60)
	s.say("evict %s: %v", name, evicted)
	if evicted {
		s.tracker.EvictNode(s.told(), name, eviction.NodeRequest{Reason: "drain"})
	} else {
		s.tracker.CancelNodeEviction(s.told(), name)
	}
	_, waits := s.history.awaited[name]
	switch {
	case s.history.nodeStay(name) != nil:
		writeDown(s.history, s.history.evicted, name, evicted, s.now, false)
	case !evicted:
		delete(s.history.awaited, name)
	case !waits:
		s.history.awaited[name] = s.now
	}
}

// askForPod asks for a pod to leave, or takes that back.
func (s *schedule) askForPod() {
	uid, ok := s.somePod()
	if !ok || s.history.podStay(uid) == nil {
		return
	}
	for _, other := range s.history.known() {
		if !s.history.askedAt(other).IsZero() && s.chance(50) {
			uid = other
		}
	}
	if s.chance(40) {
		s.say("ask no more for %s", uid)
		if asked := !s.history.askedAt(uid).IsZero(); asked {
			s.reached["request taken back"]++
			require.True(s, s.tracker.CancelPodEviction(s.told(), uid))
		} else {
			require.False(s, s.tracker.CancelPodEviction(s.told(), uid))
		}
		writeDown(s.history, s.history.asked, uid, time.Time{}, s.now, false)
		return
	}
	due := s.now.Add(pick(s, -5*time.Second, 0, 0, time.Second, 10*time.Second, 30*time.Second))
	s.say("ask for %s at %v", uid, due.Sub(at(0)))
	s.reached["asked"]++
	require.True(s, s.tracker.EvictPod(s.told(), uid, "moved", due))
	writeDown(s.history, s.history.asked, uid, due, s.now, false)
}

// retry makes a pod be attempted again without a wait.
func (s *schedule) retry() {
	if uid, ok := s.somePod(); ok && s.history.podStay(uid) != nil {
		s.retryPod(uid)
	}
}

func (s *schedule) retryPod(uid types.UID) {
	s.say("retry %s", uid)
	s.reached["retried"]++
	require.True(s, s.tracker.Retry(s.told(), uid))
	s.history.count++
	s.history.attempts[uid] = append(s.history.attempts[uid],
		attempt{at: s.now, count: s.history.count, outcome: retried})
	delete(s.history.reported, uid)
}

// setLimit changes the rate of a share, to nothing more often than to something
// else.
func (s *schedule) setLimit() {
	if len(s.history.budgets) == 0 {
		return
	}
	budget, key := pick(s, s.history.budgets...), pick(s, "east", "west", "red", "blue", "")
	for _, name := range slices.Sorted(maps.Keys(budget.shares)) {
		if budget.shares[name].limit() == 0 && s.chance(70) {
			key = name
		}
	}
	if budget.name == "overall" {
		key = ""
	}
	share, limit := budget.share(key, s.history.epoch), pick[rate.Limit](s, 0.3, 2, rate.Inf)
	if share.limit() != 0 && s.chance(60) {
		limit = 0
		s.reached["shut"]++
	} else if share.limit() == 0 {
		s.reached["opened"]++
	}
	s.say("limit %s of %s: %v", key, budget.name, limit)
	share.events = append(share.events, slowEvent{at: s.now, limit: limit})
	require.True(s, s.tracker.SetLimit(s.told(), budget.name, key, limit))
}

// hold begins or ends a hold, everywhere or on a node.
func (s *schedule) hold() {
	hold := pick(s, "all", "ours", "a", "a", "requests")
	name := pick(s, append([]string{"", "", ""}, nodeNames...)...)
	held := !s.history.isHeld(name, hold) || s.chance(20)
	s.say("hold %s on %q: %v", hold, name, held)
	s.history.count++
	s.history.holds = s.history.holds || held
	require.True(s, s.tracker.SetHold(s.told(), hold, name, held))
	if name == "" {
		s.history.held[hold] = held
		s.reached["hold"]++
	} else if stay := s.history.nodeStay(name); len(stay) > 0 {
		s.reached["hold of a node"]++
		on := s.history.heldOn[name]
		if on.node != stay[0].object {
			on = heldNode{map[string]bool{}, stay[0].object}
		}
		on.holds[hold] = held
		s.history.heldOn[name] = on
	}
	if hold == "all" {
		s.reached["hold of all"]++
	}
	require.Equal(s, s.history.isHeld(name, hold), s.tracker.Held(hold, name))
}

// heldNode has the holds of a node, and the node as it was first observed.
type heldNode struct {
	holds map[string]bool
	node  *corev1.Node
}

// isHeld reports whether a hold holds on a node; without a name, everywhere.
func (h *history) isHeld(name, hold string) bool {
	on := h.heldOn[name]
	stay := h.nodeStay(name)
	return h.held[hold] || len(stay) > 0 && stay[0].object == on.node && on.holds[hold]
}
