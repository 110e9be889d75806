package taints_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

func TestT1IdentityIsKeyAndEffect(t *testing.T) {
	current := list("a=1:NoSchedule", "a=2:NoExecute@5", "b=3:NoSchedule")

	found, ok := taints.Find(current, "a", noExecute)
	require.True(t, ok)
	require.Equal(t, "a=2:NoExecute@5", showOne(&found))
	for _, absent := range []corev1.Taint{taint("a:PreferNoSchedule"), taint("b:NoExecute"),
		taint("c:NoSchedule"), taint(":NoSchedule"), taint("a:")} {
		found, ok = taints.Find(current, absent.Key, absent.Effect)
		require.False(t, ok, showOne(&absent))
		require.Zero(t, found)
	}

	require.Equal(t, []string{"a=1:NoSchedule", "b=3:NoSchedule"},
		show(taints.Remove(current, "a", noExecute)))
	require.Equal(t, []string{"a=1:NoSchedule", "a=9:NoExecute", "b=3:NoSchedule"},
		show(taints.Add(current, taint("a=9:NoExecute"))))

	add, remove := taints.Diff(list("a=7:NoExecute@6", "a=7:PreferNoSchedule"), current)
	require.Equal(t, []string{"a=7:PreferNoSchedule"}, show(add))
	require.Equal(t, []string{"a=1:NoSchedule", "b=3:NoSchedule"}, show(remove))
}

func TestT1EquivalentIsIdentityOrIllness(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"a=1:NoSchedule", "a=2:NoSchedule@3", true},
		{"a:NoSchedule", "a:NoExecute", false},
		{"a:NoExecute", "b:NoExecute", false},
		{"NR:NoExecute", "UN:NoExecute", true},
		{"NR:NoExecute", "NR:NoExecute", true},
		{"NR:NoSchedule", "UN:NoSchedule", false},
		{"NR:NoSchedule", "UN:NoExecute", false},
		{"NR:NoExecute", "a:NoExecute", false},
	} {
		a, b := taint(c.a), taint(c.b)
		require.Equal(t, c.same, taints.Equivalent(&a, &b), "%s and %s", c.a, c.b)
		require.Equal(t, c.same, taints.Equivalent(&b, &a), "%s and %s", c.b, c.a)
	}
}

func TestT1AddReplacesInPlaceElseAppends(t *testing.T) {
	for _, c := range []struct {
		name    string
		current []corev1.Taint
		taint   string
		want    []string
	}{
		{"to nothing", nil, "a:NoSchedule", []string{"a:NoSchedule"}},
		{"another key", list("a:NoSchedule"), "b:NoSchedule", []string{"a:NoSchedule", "b:NoSchedule"}},
		{"another effect", list("a:NoSchedule"), "a:NoExecute@1",
			[]string{"a:NoSchedule", "a:NoExecute@1"}},
		{"another value", list("a=1:NoSchedule", "b:NoSchedule"), "a=2:NoSchedule",
			[]string{"a=2:NoSchedule", "b:NoSchedule"}},
		{"another time", list("a:NoExecute@1", "b:NoSchedule"), "a:NoExecute@2",
			[]string{"a:NoExecute@2", "b:NoSchedule"}},
		{"time gone", list("a:NoExecute@1"), "a:NoExecute", []string{"a:NoExecute"}},
		{"the same", list("a=1:NoExecute@1", "b:NoSchedule"), "a=1:NoExecute@1",
			[]string{"a=1:NoExecute@1", "b:NoSchedule"}},
	} {
		require.Equal(t, c.want, show(taints.Add(c.current, taint(c.taint))), c.name)
	}
}

func TestT1WhatIsKeptKeepsItsOrder(t *testing.T) {
	current := list("d:NoSchedule", "a:NoExecute", "c=1:NoSchedule", "a:NoSchedule",
		"b:PreferNoSchedule")

	schedule := taints.Filter(current, func(t *corev1.Taint) bool { return t.Effect == noSchedule })
	require.Equal(t, []string{"d:NoSchedule", "c=1:NoSchedule", "a:NoSchedule"}, show(schedule))
	none := taints.Filter(current, func(*corev1.Taint) bool { return false })
	require.Empty(t, none)
	for i := range current {
		rest := slices.Delete(copied(current), i, i+1)
		require.Equal(t, show(rest), show(taints.Remove(current, current[i].Key, current[i].Effect)))
	}
	require.Equal(t, []string{"b:NoSchedule"},
		show(taints.Remove(list("a:NoSchedule", "b:NoSchedule", "a=2:NoSchedule"), "a", noSchedule)),
		"no taint of the identity is left, were there two")
}

func TestT1FilterAsksOnceForEachInOrder(t *testing.T) {
	current := list("a:NoSchedule", "b:NoSchedule", "c:NoSchedule", "d:NoSchedule")
	var asked []string
	taints.Filter(current, func(t *corev1.Taint) bool {
		asked = append(asked, t.Key)
		return t.Key != "b"
	})
	require.Equal(t, []string{"a", "b", "c", "d"}, asked)
}

func TestT1DiffIgnoresValueTimeAndOrder(t *testing.T) {
	desired := list("a=1:NoExecute@1", "b:NoSchedule")
	current := list("b=2:NoSchedule", "a=3:NoExecute@9")
	add, remove := taints.Diff(desired, current)
	require.Empty(t, add)
	require.Empty(t, remove)

	add, remove = taints.Diff(nil, current)
	require.Empty(t, add)
	require.Equal(t, show(current), show(remove))
	add, remove = taints.Diff(desired, nil)
	require.Equal(t, show(desired), show(add))
	require.Empty(t, remove)
}

func TestT1EqualComparesEverythingAndTheOrder(t *testing.T) {
	base := list("a=1:NoExecute@1", "b:NoSchedule")
	require.True(t, taints.Equal(base, copied(base)))
	require.True(t, taints.Equal(nil, []corev1.Taint{}), "missing and empty are the same set")

	utc := copied(base)
	utc[0].TimeAdded.Time = utc[0].TimeAdded.UTC()
	require.True(t, taints.Equal(base, utc), "the same instant in another zone")

	for _, other := range [][]corev1.Taint{
		nil,
		base[:1],
		list("a=1:NoExecute@1", "b:NoSchedule", "c:NoSchedule"),
		list("b:NoSchedule", "a=1:NoExecute@1"),
		list("a=1:NoExecute@1", "c:NoSchedule"),
		list("a=1:NoExecute@1", "b:PreferNoSchedule"),
		list("a=2:NoExecute@1", "b:NoSchedule"),
		list("a=1:NoExecute@2", "b:NoSchedule"),
		list("a=1:NoExecute", "b:NoSchedule"),
		list("a=1:NoExecute@1", "b:NoSchedule@1"),
	} {
		require.False(t, taints.Equal(base, other), show(other))
		require.False(t, taints.Equal(other, base), show(other))
	}
}
