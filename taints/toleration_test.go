package taints_test

import (
	"fmt"
	"math/big"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

const (
	equal  = corev1.TolerationOpEqual
	exists = corev1.TolerationOpExists
	lt     = corev1.TolerationOpLt
	gt     = corev1.TolerationOpGt
)

func toleration(
	key string, op corev1.TolerationOperator, value string, effect corev1.TaintEffect,
) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: op, Value: value, Effect: effect}
}

func TestT1TolerationsMatchAsInV137(t *testing.T) {
	for _, c := range []struct {
		name       string
		toleration corev1.Toleration
		taint      string
		off, on    bool // with EnableComparisonOperators off and on
	}{
		{"Equal, same value", toleration("k", equal, "v", noExecute), "k=v:NoExecute", true, true},
		{"Equal, other value", toleration("k", equal, "v", noExecute), "k=w:NoExecute", false, false},
		{"Equal, no value on either", toleration("k", equal, "", noExecute), "k:NoExecute", true, true},
		{"Equal, no value against one", toleration("k", equal, "", noExecute), "k=v:NoExecute",
			false, false},
		{"Equal is of text", toleration("k", equal, "1", noExecute), "k=01:NoExecute", false, false},
		{"no operator means Equal", toleration("k", "", "v", noExecute), "k=v:NoExecute", true, true},
		{"no operator, other value", toleration("k", "", "v", noExecute), "k=w:NoExecute", false, false},
		{"Exists, any value", toleration("k", exists, "", noExecute), "k=v:NoExecute", true, true},
		{"Exists ignores its own value", toleration("k", exists, "w", noExecute),
			"k=v:NoExecute", true, true},
		{"other key", toleration("k", exists, "", noExecute), "l:NoExecute", false, false},
		{"other effect", toleration("k", exists, "", noSchedule), "k:NoExecute", false, false},
		{"no effect means every effect", toleration("k", exists, "", ""),
			"k:PreferNoSchedule", true, true},
		{"no effect, other key", toleration("k", exists, "", ""), "l:NoSchedule", false, false},
		{"no key and Exists means everything", toleration("", exists, "", ""),
			"k=v:NoExecute", true, true},
		{"no key, one effect", toleration("", exists, "", noSchedule), "k=v:NoExecute", false, false},
		{"no key and Equal, same value", toleration("", equal, "v", ""), "k=v:NoExecute", true, true},
		{"no key and Equal, other value", toleration("", equal, "v", ""), "k=w:NoExecute", false, false},
		{"the zero toleration and no value", toleration("", "", "", ""), "k:NoExecute", true, true},
		{"unknown operator", toleration("k", "Like", "v", ""), "k=v:NoExecute", false, false},
		{"operators are case sensitive", toleration("k", "exists", "", ""), "k:NoExecute", false, false},

		{"Lt, taint is less", toleration("k", lt, "10", noExecute), "k=9:NoExecute", false, true},
		{"Lt, taint is equal", toleration("k", lt, "10", noExecute), "k=10:NoExecute", false, false},
		{"Lt, taint is greater", toleration("k", lt, "10", noExecute), "k=11:NoExecute", false, false},
		{"Gt, taint is less", toleration("k", gt, "10", noExecute), "k=9:NoExecute", false, false},
		{"Gt, taint is equal", toleration("k", gt, "10", noExecute), "k=10:NoExecute", false, false},
		{"Gt, taint is greater", toleration("k", gt, "10", noExecute), "k=11:NoExecute", false, true},
		{"numbers, not text", toleration("k", lt, "10", noExecute), "k=9:NoExecute", false, true},
		{"below zero", toleration("k", gt, "-10", noExecute), "k=-9:NoExecute", false, true},
		{"zero", toleration("k", lt, "1", noExecute), "k=0:NoExecute", false, true},
		{"Lt, other key", toleration("k", lt, "10", noExecute), "l=9:NoExecute", false, false},
		{"Lt, other effect", toleration("k", lt, "10", noSchedule), "k=9:NoExecute", false, false},
		{"Lt, no effect", toleration("k", lt, "10", ""), "k=9:NoExecute", false, true},
		{"Lt, no key", toleration("", lt, "10", ""), "k=9:NoExecute", false, true},
		{"the greatest", toleration("k", lt, "9223372036854775807", ""),
			"k=9223372036854775806:NoExecute", false, true},
		{"out of range", toleration("k", gt, "1", ""), "k=9223372036854775808:NoExecute", false, false},
		{"out of range itself", toleration("k", lt, "9223372036854775808", ""), "k=1:NoExecute",
			false, false},
		{"taint is no number", toleration("k", lt, "10", noExecute), "k=low:NoExecute", false, false},
		{"taint has no value", toleration("k", lt, "10", noExecute), "k:NoExecute", false, false},
		{"toleration is no number", toleration("k", gt, "low", noExecute), "k=5:NoExecute", false, false},
		{"toleration has no value", toleration("k", gt, "", noExecute), "k=5:NoExecute", false, false},
		{"leading zero", toleration("k", lt, "10", noExecute), "k=09:NoExecute", false, false},
		{"plus sign", toleration("k", lt, "+10", noExecute), "k=9:NoExecute", false, false},
		{"minus zero", toleration("k", lt, "10", noExecute), "k=-0:NoExecute", false, false},
		{"fraction", toleration("k", lt, "10", noExecute), "k=9.5:NoExecute", false, false},
		{"blank around it", toleration("k", lt, " 10", noExecute), "k=9:NoExecute", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := taint(c.taint)
			require.Equal(t, c.off, taints.Matcher{}.Tolerates(&c.toleration, &target), "switch off")
			require.Equal(t, c.on, taints.Matcher{EnableComparisonOperators: true}.Tolerates(&c.toleration,
				&target),
				"switch on")
		})
	}
}

// tolerated is a second implementation of the rule, from the API's reference,
// with numbers of any size.
func tolerated(l corev1.Toleration, t corev1.Taint, compare bool) bool {
	if l.Key != "" && l.Key != t.Key || l.Effect != "" && l.Effect != t.Effect {
		return false
	}
	if l.Operator == lt || l.Operator == gt {
		number := regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
		if !compare || !number.MatchString(l.Value) || !number.MatchString(t.Value) {
			return false
		}
		limit, _ := new(big.Int).SetString(l.Value, 10)
		value, _ := new(big.Int).SetString(t.Value, 10)
		sign := map[corev1.TolerationOperator]int{lt: -1, gt: 1}[l.Operator]
		return limit.IsInt64() && value.IsInt64() && value.Cmp(limit) == sign
	}
	return l.Operator == exists || (l.Operator == equal || l.Operator == "") && l.Value == t.Value
}

func TestT1EveryCombinationOfTolerationAndTaint(t *testing.T) {
	values := []string{"", "0", "-0", "5", "05", "-5", "-", "6", "x", "9223372036854775807",
		"9223372036854775808"}
	seen := map[string]int{}
	for _, key := range []string{"", "k", "l"} {
		for _, op := range []corev1.TolerationOperator{"", equal, exists, lt, gt, "Like"} {
			for _, value := range values {
				for _, effect := range []corev1.TaintEffect{"", noSchedule, prefer, noExecute} {
					for _, taintValue := range values {
						for _, compare := range []bool{false, true} {
							l := toleration(key, op, value, effect)
							target := corev1.Taint{Key: "k", Value: taintValue, Effect: noExecute}
							want := tolerated(l, target, compare)
							got := taints.Matcher{EnableComparisonOperators: compare}.Tolerates(&l, &target)
							require.Equal(t, want, got, "%+v on %+v, compare %v", l, target, compare)
							seen[fmt.Sprint(op, " ", want)]++
						}
					}
				}
			}
		}
	}
	for _, op := range []corev1.TolerationOperator{"", equal, exists, lt, gt} {
		require.Positive(t, seen[fmt.Sprint(op, " ", true)], "%q never tolerated", op)
		require.Positive(t, seen[fmt.Sprint(op, " ", false)], "%q always tolerated", op)
	}
}

func TestT1TheFirstMatchingTolerationCounts(t *testing.T) {
	target := taint("k=v:NoExecute")
	tolerations := []corev1.Toleration{
		toleration("other", exists, "", ""),
		toleration("k", lt, "10", ""),
		toleration("k", equal, "v", noExecute),
		toleration("", exists, "", ""),
	}
	var m taints.Matcher
	require.Same(t, &tolerations[2], m.First(tolerations, &target))
	require.Same(t, &tolerations[3], m.First(tolerations[3:], &target))
	require.Nil(t, m.First(tolerations[:2], &target))
	require.Nil(t, m.First(nil, &target))

	number := taint("k=9:NoExecute")
	require.Same(t, &tolerations[3], m.First(tolerations, &number))
	require.Same(t, &tolerations[1], taints.Matcher{EnableComparisonOperators: true}.First(tolerations,
		&number))
}

func TestT1UntoleratedIsTheFirstOfThatEffect(t *testing.T) {
	current := list("a:NoSchedule", "b:NoExecute", "c=5:NoExecute", "d:NoExecute", "d:NoSchedule")
	var m taints.Matcher

	require.Same(t, &current[1], m.Untolerated(current, nil, noExecute))
	require.Same(t, &current[0], m.Untolerated(current, nil, noSchedule))
	require.Nil(t, m.Untolerated(current, nil, prefer))
	require.Nil(t, m.Untolerated(nil, nil, noExecute))

	tolerations := []corev1.Toleration{toleration("b", exists, "", ""), toleration("c", lt, "6", "")}
	require.Same(t, &current[2], m.Untolerated(current, tolerations, noExecute))
	require.Same(t, &current[3], taints.Matcher{EnableComparisonOperators: true}.Untolerated(current,
		tolerations, noExecute))
	require.Nil(t, m.Untolerated(current, []corev1.Toleration{toleration("", exists, "", noExecute)},
		noExecute))
	require.Same(t, &current[0], m.Untolerated(current,
		[]corev1.Toleration{toleration("", exists, "", noExecute)}, noSchedule))
}
