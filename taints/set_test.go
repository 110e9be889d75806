package taints_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	require.Equal(t, []string{"a=1:NoSchedule", "a=9:NoExecute@5", "b=3:NoSchedule"},
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
		{"the same", list("a=1:NoExecute@1", "b:NoSchedule"), "a=1:NoExecute@1",
			[]string{"a=1:NoExecute@1", "b:NoSchedule"}},
	} {
		require.Equal(t, c.want, show(taints.Add(c.current, taint(c.taint))), c.name)
	}
}

func TestT4AddKeepsTheTimeThatIsThere(t *testing.T) {
	for _, c := range []struct {
		name    string
		current []corev1.Taint
		taint   string
		want    []string
	}{
		{"a later time", list("a:NoExecute@5", "b:NoSchedule"), "a:NoExecute@9",
			[]string{"a:NoExecute@5", "b:NoSchedule"}},
		{"an earlier time", list("a:NoExecute@5"), "a:NoExecute@3", []string{"a:NoExecute@5"}},
		{"no time", list("a:NoExecute@5"), "a:NoExecute", []string{"a:NoExecute@5"}},
		{"another value", list("a=1:NoExecute@5"), "a=2:NoExecute@9", []string{"a=2:NoExecute@5"}},
		{"another value, no time", list("a=1:NoExecute@5"), "a=2:NoExecute",
			[]string{"a=2:NoExecute@5"}},
		{"another value, an earlier time", list("a=1:NoExecute@5"), "a=2:NoExecute@3",
			[]string{"a=2:NoExecute@5"}},
		{"none there", list("a:NoExecute"), "a:NoExecute@9", []string{"a:NoExecute@9"}},
		{"none anywhere", list("a=1:NoExecute"), "a=2:NoExecute", []string{"a=2:NoExecute"}},
		{"the lineage's", list("NR:NoExecute@5"), "UN:NoExecute@9",
			[]string{"NR:NoExecute@5", "UN:NoExecute@5"}},
		{"the lineage's, none given", list("NR:NoExecute@5"), "UN:NoExecute",
			[]string{"NR:NoExecute@5", "UN:NoExecute@5"}},
		{"the lineage's is ahead", list("NR:NoExecute@200"), "UN:NoExecute@9",
			[]string{"NR:NoExecute@200", "UN:NoExecute@9"}},
		{"the lineage's, for one without", list("NR:NoExecute@5", "UN:NoExecute"), "UN:NoExecute@9",
			[]string{"NR:NoExecute@5", "UN:NoExecute@5"}},
		{"another taint's is not its own", list("b:NoExecute@5"), "a:NoExecute@9",
			[]string{"b:NoExecute@5", "a:NoExecute@9"}},
	} {
		require.Equal(t, c.want, show(taints.Add(c.current, taint(c.taint))), c.name)
	}

	zero := list("a:NoExecute")
	zero[0].TimeAdded = &metav1.Time{}
	require.Equal(t, []string{"a:NoExecute@9"}, show(taints.Add(zero, taint("a:NoExecute@9"))),
		"a zero time is a missing one")
	current := list("a:NoExecute@5")
	require.Equal(t, []string{"a:NoExecute@9"},
		show(taints.Add(taints.Remove(current, "a", noExecute), taint("a:NoExecute@9"))),
		"removed first")
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
