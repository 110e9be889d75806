package taints_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

// mark is what the tests write where no other code may write.
var mark = taint("mark=mark:NoExecute@77")

// roomy returns a list with unused capacity, as decoders make them, and its
// whole array.
func roomy(taints []corev1.Taint) (arg, array []corev1.Taint) {
	array = make([]corev1.Taint, len(taints)+3)
	copy(array, copied(taints))
	return array[:len(taints)], array
}

// untouched calls the function with roomy copies of both lists. It fails when
// the call or an append to the result changes one of the two arrays. So does a
// write into a result that is not an argument itself.
func untouched(
	t *testing.T, a, b []corev1.Taint, function func(a, b []corev1.Taint) [][]corev1.Taint,
) {
	t.Helper()
	argA, arrayA := roomy(a)
	argB, arrayB := roomy(b)
	beforeA, beforeB := copied(arrayA), copied(arrayB)

	results := function(argA, argB)
	require.Equal(t, beforeA, arrayA, "the call changed its first argument")
	require.Equal(t, beforeB, arrayB, "the call changed its second argument")
	for _, result := range results {
		_ = append(result, mark)
		if len(result) > 0 && !itself(result, argA) && !itself(result, argB) {
			result[0] = mark
			result[len(result)-1] = mark
		}
	}
	require.Equal(t, beforeA, arrayA, "a result has the first argument's array")
	require.Equal(t, beforeB, arrayB, "a result has the second argument's array")
}

func TestT1ArgumentsAreNeverModified(t *testing.T) {
	one := func(l []corev1.Taint) [][]corev1.Taint { return [][]corev1.Taint{l} }
	matcher := taints.Matcher{EnableComparisonOperators: true}
	tolerations := []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	functions := map[string]func(a, b []corev1.Taint) [][]corev1.Taint{
		"Find": func(a, _ []corev1.Taint) [][]corev1.Taint {
			found, ok := taints.Find(a, "a", noExecute)
			found.Value = "changed"
			require.Equal(t, ok, found.Key == "a")
			return nil
		},
		"Add new": func(a, _ []corev1.Taint) [][]corev1.Taint {
			return one(taints.Add(a, taint("z:NoExecute@9")))
		},
		"Add changed": func(a, _ []corev1.Taint) [][]corev1.Taint {
			return one(taints.Add(a, taint("a=9:NoSchedule")))
		},
		"Add same": func(a, _ []corev1.Taint) [][]corev1.Taint {
			return one(taints.Add(a, taint("a=1:NoSchedule")))
		},
		"Remove": func(a, _ []corev1.Taint) [][]corev1.Taint {
			return one(taints.Remove(a, "a", noSchedule))
		},
		"Remove none": func(a, _ []corev1.Taint) [][]corev1.Taint {
			return one(taints.Remove(a, "z", noSchedule))
		},
		"Filter": func(a, _ []corev1.Taint) [][]corev1.Taint {
			return one(taints.Filter(a, func(t *corev1.Taint) bool { return t.Effect != noExecute }))
		},
		"Diff": func(a, b []corev1.Taint) [][]corev1.Taint {
			add, remove := taints.Diff(a, b)
			return [][]corev1.Taint{add, remove}
		},
		"Equal": func(a, b []corev1.Taint) [][]corev1.Taint { taints.Equal(a, b); return nil },
		"Reconcile": func(a, b []corev1.Taint) [][]corev1.Taint {
			next, _ := taints.Reconcile(a, b, taints.OwnsNoExecute, at(99))
			return one(next)
		},
		"Reconcile owning all": func(a, b []corev1.Taint) [][]corev1.Taint {
			next, _ := taints.Reconcile(a, b, func(*corev1.Taint) bool { return true }, at(99))
			return one(next)
		},
		"Reconcile up to date": func(a, _ []corev1.Taint) [][]corev1.Taint {
			next, _ := taints.Reconcile(a, a, taints.OwnsNoExecute, at(99))
			return one(next)
		},
		"Untolerated": func(a, _ []corev1.Taint) [][]corev1.Taint {
			matcher.Untolerated(a, tolerations, noExecute)
			return nil
		},
		"Patch": func(a, b []corev1.Taint) [][]corev1.Taint {
			node := newNode("n", "u")
			node.Spec.Taints = a
			_, err := taints.Patch(node, b)
			require.NoError(t, err)
			return nil
		},
	}
	lists := [][]corev1.Taint{
		nil,
		list("a=1:NoSchedule"),
		list("NR:NoExecute@3"),
		list("UN:NoExecute@4", "a=1:NoSchedule", "NR:NoExecute@3", "b:PreferNoSchedule"),
		list("b=2:NoExecute@5", "NR=x:NoExecute", "a=2:NoSchedule", "a:NoExecute@6"),
	}
	for name, function := range functions {
		t.Run(name, func(t *testing.T) {
			for _, a := range lists {
				for _, b := range lists {
					untouched(t, a, b, function)
				}
			}
		})
	}
}

func TestT1TimesOfAResultAreNotThoseOfTheDesired(t *testing.T) {
	current, desired := list("UN:NoExecute@3"), list("NR:NoExecute@50")
	next, changed := taints.Reconcile(current, desired, taints.OwnsNoExecute, at(99))
	require.True(t, changed)
	next[0].TimeAdded.Time = at(1)
	require.Equal(t, []string{"UN:NoExecute@3"}, show(current))
	require.Equal(t, []string{"NR:NoExecute@50"}, show(desired))
}

func TestT1NothingToChangeReturnsTheArgumentItself(t *testing.T) {
	for _, current := range [][]corev1.Taint{
		list("a=1:NoSchedule", "NR:NoExecute@3"),
		list("a=1:NoSchedule", "UN:NoExecute", "NR:NoExecute@3"),
	} {
		arg, _ := roomy(current)
		require.True(t, itself(arg, taints.Add(arg, taint("NR:NoExecute@3"))), "Add")
		require.True(t, itself(arg, taints.Remove(arg, "a", noExecute)), "Remove")
		require.True(t, itself(arg, taints.Filter(arg, func(*corev1.Taint) bool { return true })),
			"Filter")
		next, changed := taints.Reconcile(arg, list("a=1:NoSchedule"), taints.OwnsNoSchedule, at(99))
		require.True(t, itself(arg, next), "Reconcile")
		require.False(t, changed)
		next, changed = taints.Reconcile(arg, arg[1:], taints.OwnsNoExecute, at(99))
		require.True(t, itself(arg, next), "Reconcile")
		require.False(t, changed)
	}
	require.Nil(t, taints.Remove(nil, "a", noSchedule))
	require.Nil(t, taints.Filter(nil, func(*corev1.Taint) bool { return false }))
	next, changed := taints.Reconcile(nil, nil, taints.OwnsNoSchedule, at(99))
	require.Nil(t, next)
	require.False(t, changed)
}

func TestT1APendingAppendDoesNotReachTheOwnerOfTheList(t *testing.T) {
	cached, _ := roomy(list("a:NoSchedule"))
	first := append(taints.Remove(cached, "b", noSchedule), taint("x:NoSchedule"))
	second := append(taints.Remove(cached, "b", noSchedule), taint("y:NoSchedule"))
	require.Equal(t, []string{"a:NoSchedule", "x:NoSchedule"}, show(first))
	require.Equal(t, []string{"a:NoSchedule", "y:NoSchedule"}, show(second))
	require.Equal(t, corev1.Taint{}, cached[:2][1],
		"two readers of a cache may not write to the same memory")
}

func TestT2AppendNoScheduleLeavesTheNodeAlone(t *testing.T) {
	node := withConditions(newNode("n", "u", "a:NoSchedule", "NR:NoSchedule"), "Ready=Unknown",
		"DiskPressure=True")
	node.Spec.Unschedulable = true
	before := node.DeepCopy()
	desired := taints.AppendNoSchedule(nil, node)
	for i := range desired {
		desired[i] = mark
	}
	require.Equal(t, before, node)

	short, array := roomy(list("first:NoSchedule"))
	taints.AppendNoSchedule(short[:1:1], node)
	require.Equal(t, corev1.Taint{}, array[1], "no room means a new array")
}
