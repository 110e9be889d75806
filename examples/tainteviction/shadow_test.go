package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/process/shadow"
)

// C7: a shadow decides as an evictor does, sends nothing, and compares with
// what another does.
func TestC7AShadowEvictsNoPodAndComparesEvictions(t *testing.T) {
	for _, action := range []string{"delete", "evict", "evict-then-delete"} {
		for _, confirm := range []string{"--confirm", "--confirm=false"} {
			t.Run(action+" "+confirm, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					tolerant := func(pod *corev1.Pod) {
						pod.Spec.Tolerations = []corev1.Toleration{{
							Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](30),
						}}
					}
					w.start("--shadow", "--action="+action, confirm)
					for _, name := range []string{"soon", "late", "stays"} {
						w.add(name, tolerant)
					}
					synctest.Wait()
					began := time.Now()
					w.taint(corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: began}})
					w.at(began, 10*time.Second)
					w.evictAsOther("soon")
					w.at(began, 60*time.Second)
					w.evictAsOther("late")
					w.at(began, 90*time.Second)

					differences := w.compared()
					require.Len(t, differences, 3)
					for i, want := range []struct {
						name    string
						verdict shadow.Verdict
						by      time.Duration
					}{
						{"soon", shadow.VerdictLater, 20 * time.Second},
						{"late", shadow.VerdictEarlier, -30 * time.Second},
						{"stays", shadow.VerdictOpen, 0},
					} {
						d := differences[want.name]
						require.Equal(t, shadow.ActionEvictPod, d.Action, i)
						require.Equal(t, want.verdict, d.Verdict, want.name)
						require.Equal(t, want.by, d.By().Round(time.Second), want.name)
					}
					for request := range w.client.Requests() {
						require.Contains(t, []string{"get", "list", "watch"}, request.Verb, request)
					}
					require.Zero(t, w.evictor.tracker.Waiting(), "each was decided once")
				})
			})
		}
	}
}

// evictAsOther evicts a pod as kube-controller-manager does.
func (w *world) evictAsOther(name string) {
	pods := w.cluster.CoreV1().Pods("shop")
	pod, err := pods.Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
	})
	_, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	require.NoError(w.t, pods.Delete(w.ctx, name, metav1.DeleteOptions{}))
}

// compared returns the differences by the names of the pods.
func (w *world) compared() map[string]shadow.Difference {
	byName := map[string]shadow.Difference{}
	for _, d := range w.evictor.shadow.Differences(10) {
		byName[d.Object.Name] = d
	}
	return byName
}

// C7: a mark that was left by another controller is not cleared.
func TestC7AShadowClearsNoCondition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("marked")
		pods := w.cluster.CoreV1().Pods("shop")
		pod, err := pods.Get(w.ctx, "marked", metav1.GetOptions{})
		require.NoError(t, err)
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
		}}
		_, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		w.start("--shadow")
		time.Sleep(time.Hour)
		synctest.Wait()
		for request := range w.client.Requests() {
			require.Contains(t, []string{"get", "list", "watch"}, request.Verb, request)
		}
		require.Empty(t, w.compared())
		_, err = pods.Get(w.ctx, "marked", metav1.GetOptions{})
		require.False(t, apierrors.IsNotFound(err))
	})
}
