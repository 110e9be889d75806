package taints_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/taints"
)

// decode makes taints from bytes, two for each, duplicates included.
func decode(data []byte) []corev1.Taint {
	var out []corev1.Taint
	for ; len(data) >= 2 && len(out) < 12; data = data[2:] {
		t := corev1.Taint{
			Key:    someKeys[int(data[0]&0xf)%len(someKeys)],
			Effect: someEffects[int(data[0]>>4)%len(someEffects)],
			Value:  []string{"", "1", "2"}[int(data[1]&3)%3],
		}
		switch since := int64(data[1] >> 2); since {
		case 0, 1, 2, 3: // none
		case 4:
			t.TimeAdded = &metav1.Time{} // as protobuf decodes an empty one
		default:
			t.TimeAdded = stamp(since * 50)
		}
		out = append(out, t)
	}
	return out
}

// FuzzT4Reconcile checks what holds for any lists, with duplicates and with
// desired taints that are not owned.
func FuzzT4Reconcile(f *testing.F) {
	f.Add([]byte(nil), []byte(nil), uint8(0), int64(1000))
	// A swap.
	f.Add([]byte{0x10, 0x40}, []byte{0x11, 0}, uint8(1), int64(1_000_000_000_001))
	// A swap half done.
	f.Add([]byte{0x10, 0x40, 0x11, 0x80}, []byte{0x11, 0}, uint8(1), int64(2_000_000_000_000))
	// Duplicates on both sides.
	f.Add([]byte{0x03, 0, 0x03, 1}, []byte{0x04, 1, 0x04, 2}, uint8(2), int64(-5))
	// A zero time.
	f.Add([]byte{0x10, 0x10}, []byte{0x11, 0}, uint8(3), int64(1500)*int64(time.Second)+999)
	// Another value.
	f.Add([]byte{0x02, 0, 0x13, 9, 0x24, 7}, []byte{0x02, 1, 0x13, 0}, uint8(0), int64(1_000_001))
	f.Fuzz(func(t *testing.T, have, want []byte, scope uint8, nanos int64) {
		current, desired, now := decode(have), decode(want), time.Unix(0, nanos)
		owned := []func(*corev1.Taint) bool{
			taints.OwnsNoSchedule,
			taints.OwnsNoExecute,
			func(*corev1.Taint) bool { return true },
			func(*corev1.Taint) bool { return false },
		}[scope%4]
		beforeCurrent, beforeDesired := copied(current), copied(desired)
		next, changed := taints.Reconcile(current, desired, owned, now)

		require.Equal(t, beforeCurrent, copied(current), "current was changed")
		require.Equal(t, beforeDesired, copied(desired), "desired was changed")
		require.Equal(t, !changed, itself(current, next) || next == nil && current == nil,
			"changed, or the argument itself")
		again, changedAgain := taints.Reconcile(next, desired, owned, now.Add(time.Hour))
		require.False(t, changedAgain, "%v became %v, and that %v", show(current),
			show(next), show(again))

		checkStrangers(t, current, desired, next, owned)
		for i := range next {
			checkKept(t, current, desired, &next[i], owned)
		}
		for id := range identities(desired) {
			checkDesired(t, desired, next, id)
			if changed {
				checkTime(t, current, next, id, now)
			}
		}
		checkDuplicates(t, current, next)
	})
}

// checkStrangers: what is neither owned nor desired is unchanged and in order.
func checkStrangers(
	t *testing.T, current, desired, next []corev1.Taint, owned func(*corev1.Taint) bool,
) {
	t.Helper()
	stranger := func(t *corev1.Taint) bool {
		return !owned(t) && !identities(desired)[identity{t.Key, t.Effect}]
	}
	strangers := func(list []corev1.Taint) []string {
		out := []string{}
		for i := range list {
			if stranger(&list[i]) {
				out = append(out, showOne(&list[i]))
			}
		}
		return out
	}
	require.Equal(t, strangers(current), strangers(next))
}

// checkKept: each taint was current or desired, and of the owned only the
// desired stay.
func checkKept(
	t *testing.T, current, desired []corev1.Taint, got *corev1.Taint, owned func(*corev1.Taint) bool,
) {
	t.Helper()
	id := identity{got.Key, got.Effect}
	require.True(t, identities(desired)[id] || identities(current)[id], "%s from nowhere",
		showOne(got))
	if owned(got) {
		require.True(t, identities(desired)[id], "%s is owned and not desired", showOne(got))
	}
}

// checkDesired: the desired taint is there, and all of its identity have its
// value.
func checkDesired(t *testing.T, desired, next []corev1.Taint, id identity) {
	t.Helper()
	first, _ := taints.Find(desired, id.key, id.effect)
	same := taints.Filter(next, func(t *corev1.Taint) bool { return t.MatchTaint(&first) })
	require.NotEmpty(t, same, "%s is missing", showOne(&first))
	for i := range same {
		require.Equal(t, first.Value, same[i].Value)
	}
}

// checkTime: in a changed list a desired taint is as old as the oldest of its
// lineage. A new one is at least as old as now, in whole seconds.
func checkTime(t *testing.T, current, next []corev1.Taint, id identity, now time.Time) {
	t.Helper()
	got, _ := taints.Find(next, id.key, id.effect)
	_, wasThere := taints.Find(current, id.key, id.effect)
	if !wasThere {
		require.NotNil(t, got.TimeAdded)
		require.Zero(t, got.TimeAdded.Nanosecond())
		require.False(t, got.TimeAdded.After(now))
	}
	for i := range current {
		older := &current[i]
		if taints.Equivalent(older, &got) && !older.TimeAdded.IsZero() {
			require.False(t, got.TimeAdded.IsZero(), "%s lost the time of %s", showOne(&got), showOne(older))
			require.False(t, got.TimeAdded.After(older.TimeAdded.Time), "%s is younger than %s",
				showOne(&got), showOne(older))
		}
	}
}

// checkDuplicates: no identity is there more often than it was, or more than
// once when it is new.
func checkDuplicates(t *testing.T, current, next []corev1.Taint) {
	t.Helper()
	count := func(list []corev1.Taint) map[string]int {
		out := map[string]int{}
		for i := range list {
			out[fmt.Sprint(list[i].Key, " ", list[i].Effect)]++
		}
		return out
	}
	had := count(current)
	for id, n := range count(next) {
		require.LessOrEqual(t, n, max(1, had[id]), "%s in %v", id,
			slices.Concat(show(current), show(next)))
	}
}
