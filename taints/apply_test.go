package taints_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

// The typed client of client-go needs no adapter.
var _ taints.NodeClient = typedcorev1.NodeInterface(nil)

const aGet, aPatch = "GET n", "PATCH n"

// adding wants the taint on the node, whatever else is there.
func adding(spec string) func(*corev1.Node) []corev1.Taint {
	return func(node *corev1.Node) []corev1.Taint { return taints.Add(node.Spec.Taints, taint(spec)) }
}

// taintedBy is another writer that adds a taint of its own before each patch.
func taintedBy(s *apiServer, name string) func(string) error {
	n := 0
	return func(call string) error {
		if call == aPatch {
			n++
			s.change("n", func(node *corev1.Node) {
				node.Spec.Taints = append(node.Spec.Taints, taint(fmt.Sprintf("%s-%d:NoSchedule", name, n)))
			})
		}
		return nil
	}
}

func TestT3AllChangesAreOnePatch(t *testing.T) {
	node := withConditions(newNode("n", "u", "NR:NoSchedule", "NR:NoExecute@7",
		"dedicated=db:NoSchedule"), "Ready=Unknown", "DiskPressure=True")
	s := newAPIServer(node)
	want := func(node *corev1.Node) []corev1.Taint {
		gone, _ := taints.NoExecute(corev1.ConditionUnknown)
		owned := func(t *corev1.Taint) bool { return taints.OwnsNoSchedule(t) || taints.OwnsNoExecute(t) }
		next, _ := taints.Reconcile(node.Spec.Taints, append(taints.AppendNoSchedule(nil, node), gone),
			owned, at(100))
		return next
	}
	given := s.node("n")
	patched, err := taints.Apply(t.Context(), s, given, want)
	require.NoError(t, err)
	require.Equal(t, []string{aPatch}, s.asked())
	require.Equal(t, s.node("n"), patched, "the node as the API server has it then")
	require.Equal(t, []string{"dedicated=db:NoSchedule", "UN:NoSchedule@100",
		"node.kubernetes.io/disk-pressure:NoSchedule@100", "UN:NoExecute@7"}, show(patched.Spec.Taints))
	require.Equal(t, show(node.Spec.Taints), show(given.Spec.Taints), "the node given is not changed")
}

func TestT3NoCallWhenNothingChanges(t *testing.T) {
	for _, current := range [][]corev1.Taint{nil, {}, list("a=1:NoSchedule", "NR:NoExecute@7")} {
		for _, next := range [][]corev1.Taint{current, copied(current)} {
			node := newNode("n", "") // not even a UID is needed
			node.Spec.Taints = current
			s := newAPIServer(node)
			same, err := taints.Apply(t.Context(), s, node,
				func(*corev1.Node) []corev1.Taint { return next })
			require.NoError(t, err)
			require.Same(t, node, same)
			require.Empty(t, s.asked())
		}
	}
}

func TestT3HeartbeatsDoNotStandInTheWay(t *testing.T) {
	s := newAPIServer(withConditions(newNode("n", "u"), "Ready=True"))
	stale := s.node("n")
	s.change("n", func(node *corev1.Node) {
		node.Status.Conditions[0].Status = corev1.ConditionFalse
		node.Labels = map[string]string{"zone": "a"}
	})
	patched, err := taints.Apply(t.Context(), s, stale, adding("a:NoSchedule"))
	require.NoError(t, err)
	require.Equal(t, []string{aPatch}, s.asked(), "the guard is about taints alone")
	require.Equal(t, corev1.ConditionFalse, patched.Status.Conditions[0].Status)
	require.Equal(t, "a", patched.Labels["zone"])
}

func TestT3AnotherWritersChangeIsNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*corev1.Node)
		want []string
	}{
		"added": {func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, taint("other:NoExecute@5"))
		}, []string{"first:NoSchedule", "other:NoExecute@5", "ours:NoSchedule"}},
		"removed": {func(n *corev1.Node) { n.Spec.Taints = nil }, []string{"ours:NoSchedule"}},
		"replaced": {func(n *corev1.Node) { n.Spec.Taints[0].Value = "new" },
			[]string{"first=new:NoSchedule", "ours:NoSchedule"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newAPIServer(newNode("n", "u", "first:NoSchedule"))
				given := s.node("n")
				var asked []*corev1.Node
				patched, err := taints.Apply(t.Context(), s, given, func(node *corev1.Node) []corev1.Taint {
					if len(asked) == 0 {
						s.change("n", c.edit) // between computing and patching
					}
					asked = append(asked, node)
					return adding("ours:NoSchedule")(node)
				})
				require.NoError(t, err)
				require.Equal(t, []string{aPatch, aGet, aPatch}, s.asked())
				require.Equal(t, c.want, show(s.node("n").Spec.Taints))
				require.Equal(t, s.node("n"), patched)
				require.Len(t, asked, 2)
				require.Same(t, given, asked[0])
				require.NotSame(t, given, asked[1], "computed again from the node just read")
			})
		})
	}
}

func TestT3NoSecondPatchWhenTheOtherWriterHasDoneItAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(newNode("n", "u"))
		stale := s.node("n")
		s.change("n", func(n *corev1.Node) { n.Spec.Taints = list("ours:NoSchedule") })
		patched, err := taints.Apply(t.Context(), s, stale, adding("ours:NoSchedule"))
		require.NoError(t, err)
		require.Equal(t, []string{aPatch, aGet}, s.asked())
		require.Equal(t, s.node("n"), patched, "the node that was read, not the stale one")
	})
}

func TestT3RecreatedNodeIsErrUIDMismatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, current := range [][]string{nil, {"a:NoSchedule"}, {"ours:NoSchedule"}} {
			s := newAPIServer(newNode("n", "old"))
			given := s.node("n")
			s.store(newNode("n", "new", current...))
			patched, err := taints.Apply(t.Context(), s, given, adding("ours:NoSchedule"))
			require.ErrorIs(t, err, taints.ErrUIDMismatch)
			require.ErrorContains(t, err, "node n")
			require.Nil(t, patched)
			require.Equal(t, []string{aPatch, aGet}, s.asked())
			require.ElementsMatch(t, current, show(s.node("n").Spec.Taints), "the new node is not touched")
		}
	})
}

func TestT3VanishedNodeIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		_, err := taints.Apply(t.Context(), s, newNode("n", "u"), adding("a:NoSchedule"))
		require.True(t, apierrors.IsNotFound(err), err)
		require.Equal(t, []string{aPatch}, s.asked())

		s = newAPIServer(newNode("n", "u", "a:NoSchedule"))
		s.before = func(call string) error {
			if call == aGet {
				s.remove("n")
			}
			return nil
		}
		_, err = taints.Apply(t.Context(), s, newNode("n", "u"), adding("ours:NoSchedule"))
		require.True(t, apierrors.IsNotFound(err), err)
		require.ErrorContains(t, err, "read node n again")
		require.Equal(t, []string{aPatch, aGet}, s.asked())
	})
}

func TestT3GivesUpAfterFiveTriesWithTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(newNode("n", "u"))
		s.before = taintedBy(s, "other")
		begin := time.Now()
		patched, err := taints.Apply(t.Context(), s, s.node("n"), adding("ours:NoSchedule"))
		took := time.Since(begin)

		require.Nil(t, patched)
		require.True(t, taints.IsStale(err), err)
		require.True(t, apierrors.IsInvalid(err), err)
		require.ErrorContains(t, err, "patch taints of node n: ")
		require.Equal(t, []string{aPatch, aGet, aPatch, aGet, aPatch, aGet, aPatch, aGet, aPatch},
			s.asked())
		require.Len(t, s.node("n").Spec.Taints, 5, "the other writer's are all there, ours is not")
		require.GreaterOrEqual(t, took, 400*time.Millisecond, "10 + 30 + 90 + 270 ms")
		require.Less(t, took, 800*time.Millisecond, "and at most as much again")
	})
}

func TestT3TheFifthTryMaySucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(newNode("n", "u"))
		interfere, tries := taintedBy(s, "other"), 0
		s.before = func(call string) error {
			if call == aPatch {
				tries++
			}
			if tries == 5 {
				return nil
			}
			return interfere(call)
		}
		patched, err := taints.Apply(t.Context(), s, s.node("n"), adding("ours:NoSchedule"))
		require.NoError(t, err)
		require.Equal(t, []string{"other-1:NoSchedule", "other-2:NoSchedule", "other-3:NoSchedule",
			"other-4:NoSchedule", "ours:NoSchedule"}, show(patched.Spec.Taints))
	})
}

func TestT3OnlyAFailedGuardIsTriedAgain(t *testing.T) {
	for name, answer := range map[string]error{
		"500":        apierrors.NewInternalError(errors.New("etcd")),
		"403":        apierrors.NewForbidden(nodeResource, "n", errors.New("no")),
		"429":        apierrors.NewTooManyRequests("slow down", 1),
		"connection": errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(newNode("n", "u"))
			s.before = func(string) error { return answer }
			patched, err := taints.Apply(t.Context(), s, s.node("n"), adding("a:NoSchedule"))
			require.ErrorIs(t, err, answer)
			require.ErrorContains(t, err, "node n")
			require.Nil(t, patched)
			require.Equal(t, []string{aPatch}, s.asked())
		})
	}
	t.Run("409 is one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newAPIServer(newNode("n", "u"))
			conflicts := 0
			s.before = func(string) error {
				if conflicts++; conflicts == 1 {
					return apierrors.NewConflict(nodeResource, "n", errors.New("modified"))
				}
				return nil
			}
			_, err := taints.Apply(t.Context(), s, s.node("n"), adding("a:NoSchedule"))
			require.NoError(t, err)
			require.Equal(t, []string{aPatch, aGet, aPatch}, s.asked())
		})
	})
	t.Run("failed read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newAPIServer(newNode("n", "u", "a:NoSchedule"))
			down := errors.New("connection refused")
			s.before = func(call string) error {
				if call == aGet {
					return down
				}
				return nil
			}
			_, err := taints.Apply(t.Context(), s, newNode("n", "u"), adding("ours:NoSchedule"))
			require.ErrorIs(t, err, down)
			require.Equal(t, []string{aPatch, aGet}, s.asked())
		})
	})
}

func TestT3AnInvalidTaintIsNotTriedAgain(t *testing.T) {
	for _, invalid := range [][]corev1.Taint{list("a:NoSuchEffect"), list(":NoSchedule"),
		list("a:NoSchedule", "a=2:NoSchedule")} {
		s := newAPIServer(newNode("n", "u"))
		_, err := taints.Apply(t.Context(), s, s.node("n"),
			func(*corev1.Node) []corev1.Taint { return invalid })
		require.True(t, apierrors.IsInvalid(err), err)
		require.ErrorContains(t, err, "taints[")
		require.Equal(t, []string{aPatch}, s.asked())
		require.Empty(t, s.node("n").Spec.Taints)
	}
}

func TestT3ANodeWithoutUIDIsNotPatched(t *testing.T) {
	s := newAPIServer(newNode("n", "u"))
	_, err := taints.Apply(t.Context(), s, newNode("n", ""), adding("a:NoSchedule"))
	require.ErrorContains(t, err, "no UID")
	require.NotErrorIs(t, err, taints.ErrUIDMismatch)
	require.Empty(t, s.asked())
}

func TestT3CancelledDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(newNode("n", "u"))
		s.before = taintedBy(s, "other")
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		done := make(chan error)
		go func() {
			_, err := taints.Apply(ctx, s, s.node("n"), adding("ours:NoSchedule"))
			done <- err
		}()
		time.Sleep(100 * time.Millisecond) // in the third pause, whatever the jitter
		cancel()
		err := <-done
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "node n")
		require.Equal(t, 100*time.Millisecond, time.Since(begin), "at once")
		require.Equal(t, []string{aPatch, aGet, aPatch, aGet, aPatch}, s.asked())
	})
}

func TestT3CancelledBeforeTheCall(t *testing.T) {
	s := newAPIServer(newNode("n", "u"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := taints.Apply(ctx, s, s.node("n"), adding("ours:NoSchedule"))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{aPatch}, s.asked())
	require.Empty(t, s.node("n").Spec.Taints)
}

// writers lets that many writers add a taint each, at the same moment and from
// the same stale node. It returns how many calls of Apply each one needed.
func writers(t *testing.T, s *apiServer, count int) []int {
	t.Helper()
	needed := make([]int, count)
	stale := s.node("n")
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			node, err := stale, error(nil)
			for needed[i] < 100 {
				needed[i]++
				if _, err = taints.Apply(t.Context(), s, node,
					adding(fmt.Sprintf("writer-%02d:NoSchedule", i))); err == nil {
					return
				}
				if !taints.IsStale(err) {
					break
				}
				if node, err = s.Get(t.Context(), "n", metav1.GetOptions{}); err != nil {
					break
				}
			}
			t.Errorf("writer %d: %v", i, err)
		})
	}
	wg.Wait()
	return needed
}

func TestT3UpToFiveWritersAtOnceNeedNoSecondCall(t *testing.T) {
	// In each round at least one writer gets through, however they meet.
	for _, latency := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond,
		500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newAPIServer(newNode("n", "u"))
			s.latency = latency
			require.Equal(t, []int{1, 1, 1, 1, 1}, writers(t, s, 5))
			require.Len(t, s.node("n").Spec.Taints, 5)
		})
	}
}

func TestT3ManyWritersLoseNothing(t *testing.T) {
	// Without conflicts each of the 40 would need one request. The limits hold
	// with a jitter of 1; with one of 0.2 the last case takes 650.
	for latency, limit := range map[time.Duration]int{0: 200, time.Millisecond: 330,
		5 * time.Millisecond: 520} {
		synctest.Test(t, func(t *testing.T) {
			s := newAPIServer(newNode("n", "u", "first:NoSchedule"))
			s.latency = latency
			needed := writers(t, s, 40)
			requests := len(s.asked())
			t.Logf("latency %v: %d requests, calls needed %v", latency, requests, needed)
			require.Less(t, requests, limit)
			want := []string{"first:NoSchedule"}
			for i := range 40 {
				want = append(want, fmt.Sprintf("writer-%02d:NoSchedule", i))
			}
			require.ElementsMatch(t, want, show(s.node("n").Spec.Taints))
		})
	}
}
