package taints_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	noSchedule = corev1.TaintEffectNoSchedule
	prefer     = corev1.TaintEffectPreferNoSchedule
	noExecute  = corev1.TaintEffectNoExecute

	notReady    = corev1.TaintNodeNotReady
	unreachable = corev1.TaintNodeUnreachable
)

var (
	longKeys  = strings.NewReplacer("NR", notReady, "UN", unreachable)
	shortKeys = strings.NewReplacer(notReady, "NR", unreachable, "UN")
)

// list reads taints written as key=value:Effect@seconds, where the value and
// the time may be missing. NR and UN stand for the not-ready and unreachable
// taints. An empty list is nil, as the API server returns it.
func list(specs ...string) []corev1.Taint {
	var out []corev1.Taint
	for _, spec := range specs {
		out = append(out, taint(spec))
	}
	return slices.Clip(out)
}

func taint(spec string) corev1.Taint {
	spec = longKeys.Replace(spec)
	rest, since, timed := strings.Cut(spec, "@")
	rest, effect, _ := strings.Cut(rest, ":")
	key, value, _ := strings.Cut(rest, "=")
	out := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	if timed {
		seconds, err := strconv.ParseInt(since, 10, 64)
		if err != nil {
			panic(err)
		}
		out.TimeAdded = stamp(seconds)
	}
	return out
}

// show is the inverse of list. It shows fractions of seconds, so that none goes
// unnoticed.
func show(taints []corev1.Taint) []string {
	out := []string{}
	for i := range taints {
		out = append(out, showOne(&taints[i]))
	}
	return out
}

func showOne(t *corev1.Taint) string {
	spec := t.Key
	if t.Value != "" {
		spec += "=" + t.Value
	}
	spec += ":" + string(t.Effect)
	if t.TimeAdded != nil {
		spec += fmt.Sprintf("@%d", t.TimeAdded.Unix())
		if nanos := t.TimeAdded.Nanosecond(); nanos != 0 {
			spec += fmt.Sprintf(".%09d", nanos)
		}
	}
	return shortKeys.Replace(spec)
}

func stamp(seconds int64) *metav1.Time {
	t := metav1.NewTime(at(seconds))
	return &t
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0) }

// copied returns a deep copy of the taints.
func copied(taints []corev1.Taint) []corev1.Taint {
	out := make([]corev1.Taint, len(taints))
	for i := range taints {
		taints[i].DeepCopyInto(&out[i])
	}
	return out
}

// itself reports whether two lists are one and the same memory.
func itself(a, b []corev1.Taint) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

func newNode(name string, uid types.UID, taints ...string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid},
		Spec:       corev1.NodeSpec{Taints: list(taints...)},
	}
}

// withConditions gives the node conditions written as Type=Status.
func withConditions(node *corev1.Node, conditions ...string) *corev1.Node {
	for _, c := range conditions {
		kind, status, _ := strings.Cut(c, "=")
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status),
		})
	}
	return node
}
