package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
)

// From the taint to the deletion, through informers, tracker, workers and
// client.
func TestPodsLeaveAtTheirDeadlines(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("at-once")
		w.add("after-a-minute", tolerates(ptr.To[int64](60)))
		w.add("never", tolerates(nil))
		w.start()
		w.at(time.Now(), 10*time.Second)
		require.Empty(t, w.left())

		tainted := time.Now()
		w.taint(maintenance)
		w.at(tainted, 0)
		require.Equal(t, []string{"at-once"}, w.left())
		require.Equal(t, "Normal TaintManagerEviction Marking for deletion Pod shop/at-once", <-w.events)
		require.Equal(t, 1.0, w.metric("pod_evictions_pending"))
		require.Zero(t, w.metric("pod_evictions_oldest_overdue_seconds"))
		w.at(tainted, 59900*time.Millisecond)
		require.Equal(t, []string{"at-once"}, w.left())
		w.at(tainted, time.Minute)
		require.Equal(t, []string{"after-a-minute", "at-once"}, w.left())

		w.add("late")
		w.at(tainted, 2*time.Minute)
		require.Equal(t, []string{"after-a-minute", "at-once", "late"}, w.left())
		require.Equal(t, 3.0, w.metric("taint_eviction_controller_pod_deletions_total"))
		require.Equal(t, 3.0, w.metric("taint_eviction_controller_pod_deletion_duration_seconds"))
		require.Equal(t, 3.0, w.metric("pod_eviction_attempts_total", "outcome=Evicted", "cause="))
		require.Zero(t, w.metric("pod_evictions_pending"))
		require.Equal(t, []string{"delete pods", "patch pods/status"}, w.writes())
	})
}

func TestPodStaysWhenTheTaintGoes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("patient", tolerates(ptr.To[int64](60)))
		w.start()
		tainted := time.Now()
		w.taint(maintenance)
		w.at(tainted, 59*time.Second)
		w.taint()
		w.at(tainted, time.Hour)
		require.Empty(t, w.left())
		require.Empty(t, w.writes())
	})
}

// E2: a taint that was written while the watch was silent counts from ten
// seconds before it is seen, because its writer's clock may be behind as well.
func TestE2TaintOfAGapActsLate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("patient", tolerates(ptr.To[int64](60)))
		w.start()
		started := time.Now()
		w.at(started, 50*time.Second)
		late := maintenance
		late.TimeAdded = ptr.To(metav1.NewTime(started.Add(10 * time.Second)))
		w.taint(late)
		w.at(started, 99*time.Second)
		require.Empty(t, w.left())
		w.at(started, 101*time.Second)
		require.Equal(t, []string{"patient"}, w.left())
	})
}

// A node that is deleted takes its taints with it, and a pod that is deleted
// its deadline.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("patient", tolerates(ptr.To[int64](60)))
		w.add("deleted", tolerates(ptr.To[int64](60)))
		w.start()
		tainted := time.Now()
		w.taint(maintenance)
		w.at(tainted, 30*time.Second)
		require.Equal(t, 2.0, w.metric("pod_evictions_pending"))
		require.NoError(t, w.cluster.CoreV1().Pods("shop").Delete(w.ctx, "deleted", *metav1.NewDeleteOptions(0)))
		w.at(tainted, 31*time.Second)
		require.Equal(t, 1.0, w.metric("pod_evictions_pending"))
		require.NoError(t, w.cluster.CoreV1().Nodes().Delete(w.ctx, "n1", metav1.DeleteOptions{}))
		w.at(tainted, time.Hour)
		require.Zero(t, w.metric("pod_evictions_pending"))
		require.Empty(t, w.writes())
		_, pods := w.evictor.tracker.Len()
		require.Equal(t, 1, pods)
	})
}

// What the flags spare is spared, though the cache keeps only parts of a pod.
func TestSparedPodsStay(t *testing.T) {
	special := func(w *world) {
		w.add("mirror", func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
		})
		w.add("finished", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		w.add("agent", func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "d", Controller: ptr.To(true)}}
		})
		w.add("web")
		w.taint(maintenance)
	}
	for flag, left := range map[string][]string{
		"--leader-elect":            {"agent", "finished", "web"},           // the default
		"--spare-mirror-pods=false": {"agent", "finished", "mirror", "web"}, // as kube-controller-manager
		"--spare-finished-pods":     {"agent", "web"},
		"--spare-daemonset-pods":    {"finished", "web"},
	} {
		t.Run(flag, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				special(w)
				w.start(flag)
				w.at(time.Now(), time.Minute)
				require.Equal(t, left, w.left())
			})
		})
	}
}

// C1: an eviction is a patch and a delete, and takes three requests until it is
// known that it needs no third one. So one that needs three has them a second
// after another that needed two.
func TestRequestsFitTheirBudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b", "c", "d"} {
			w.add(name)
		}
		w.start("--kube-api-qps=2", "--kube-api-burst=3")
		tainted := time.Now()
		w.taint(maintenance)
		for second := range 4 {
			w.at(tainted, time.Duration(second)*time.Second+900*time.Millisecond)
			require.Len(t, w.left(), second+1)
		}
	})
}

// A dry run sends nothing, so nothing limits it.
func TestDryRunNeedsNoRequests(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b", "c", "d"} {
			w.add(name)
		}
		w.start("--action=dry-run", "--kube-api-qps=0.01", "--kube-api-burst=3")
		tainted := time.Now()
		w.taint(maintenance)
		w.at(tainted, time.Second)
		require.Equal(t, 4.0, w.metric("pod_eviction_attempts_total", "outcome=DryRun"))
	})
}

func TestBudgetAndPriorityOrderEvictions(t *testing.T) {
	priority := func(p int32) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.Priority = &p } }
	inWorld(t, func(t *testing.T, w *world) {
		w.add("c", priority(1000))
		w.add("a", priority(10))
		w.add("b", priority(100))
		w.start("--budget-per-node=0.1", "--low-priority-first")
		tainted := time.Now()
		w.taint(maintenance)
		w.at(tainted, 9*time.Second)
		require.Equal(t, []string{"a"}, w.left())
		require.Equal(t, 2.0, w.metric("pod_evictions_waiting_for_budget", "budget=node"))
		require.Equal(t, 9.0, w.metric("pod_evictions_oldest_overdue_seconds"))
		w.at(tainted, 19*time.Second)
		require.Equal(t, []string{"a", "b"}, w.left())
		w.at(tainted, 21*time.Second)
		require.Equal(t, []string{"a", "b", "c"}, w.left())
		require.Zero(t, w.metric("pod_evictions_waiting_for_budget", "budget=node"))
		require.Zero(t, w.metric("pod_evictions_oldest_overdue_seconds"))
	})
}

func TestDryRunOnlyTells(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("web")
		w.start("--action=dry-run")
		w.taint(maintenance)
		w.at(time.Now(), time.Minute)
		require.Empty(t, w.left())
		require.Empty(t, w.writes())
		require.Empty(t, w.events)
		require.Equal(t, 1.0, w.metric("pod_eviction_attempts_total", "outcome=DryRun"))
		require.Zero(t, w.metric("taint_eviction_controller_pod_deletions_total"))
	})
}

// forbidding is a client that may not delete pods for a while.
type forbidding struct {
	kubernetes.Interface
	until time.Time
}

type forbiddingGroup struct {
	corev1client.CoreV1Interface
	until time.Time
}

type forbiddingPods struct {
	corev1client.PodInterface
	until time.Time
}

func (f forbidding) CoreV1() corev1client.CoreV1Interface {
	return forbiddingGroup{f.Interface.CoreV1(), f.until}
}

func (f forbiddingGroup) Pods(namespace string) corev1client.PodInterface {
	return forbiddingPods{f.CoreV1Interface.Pods(namespace), f.until}
}

func (f forbiddingPods) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	if time.Now().Before(f.until) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, name, nil)
	}
	return f.PodInterface.Delete(ctx, name, options)
}

// Nothing is lost: it is seen, and done as soon as it can be.
func TestEvictionThatFailsIsTriedAgainAndSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("web")
		tainted := time.Now()
		w.wrapped = forbidding{w.client, tainted.Add(time.Minute)}
		w.start()
		w.taint(maintenance)
		w.at(tainted, 50*time.Second)
		require.Empty(t, w.left(), "the pod is there still")
		require.Greater(t, w.metric("pod_eviction_attempts_total", "outcome=Failed", "cause=Forbidden"), 2.0)
		require.InDelta(t, 50, w.metric("pod_evictions_oldest_overdue_seconds"), 0.2)
		require.Regexp(t, `^Warning FailedEviction Eviction from node n1 has failed 2 times and is tried again: .*forbidden`,
			<-w.events)
		w.at(tainted, 10*time.Minute)
		require.Equal(t, []string{"web"}, w.left())
		require.Equal(t, 1.0, w.metric("pod_eviction_attempts_total", "outcome=Evicted"))
	})
}

// E14: the age of what is late goes on while it is denied, and while it is
// halted, so that the alert EvictionsLate fires, which wants 300 seconds.
func TestE14WhatIsLateIsSeenAsLongAsItIs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("web")
		tainted := time.Now()
		w.wrapped = forbidding{w.client, tainted.Add(24 * time.Hour)}
		w.start()
		w.taint(maintenance)
		age := func(after time.Duration) {
			t.Helper()
			w.at(tainted, after)
			require.InDelta(t, after.Seconds(), w.metric("pod_evictions_oldest_overdue_seconds"), 0.2)
		}
		age(6 * time.Minute)
		w.evictor.halt()
		age(30 * time.Minute)
		w.evictor.resume()
		age(40 * time.Minute)
	})
}

// E6: a mark that was set before the taint went stays. The disruption controller
// of kube-controller-manager takes it back.
func TestE6AMarkIsNotTakenBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("web")
		w.wrapped = forbidding{w.client, time.Now().Add(24 * time.Hour)}
		w.start()
		tainted := time.Now()
		w.taint(maintenance)
		w.at(tainted, 10*time.Second)
		w.taint()
		w.at(tainted, 20*time.Minute)
		require.Zero(t, w.metric("pod_evictions_pending"))
		for len(w.events) > 0 {
			require.Contains(t, <-w.events, "Warning FailedEviction ")
		}
		patches := 0
		for request, n := range w.client.Requests() {
			if request.Verb == "patch" {
				patches += n
			}
		}
		require.Equal(t, 1, patches, "the one that has marked it")
		pod, err := w.cluster.CoreV1().Pods("shop").Get(w.ctx, "web", metav1.GetOptions{})
		require.NoError(t, err)
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.DisruptionTarget {
				require.Equal(t, corev1.ConditionTrue, condition.Status)
				return
			}
		}
		t.Error("it was never marked")
	})
}

// With --confirm the API server is asked, and not only the cache.
func TestConfirmReadsPodAndNode(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.add("web")
		w.start("--confirm")
		w.taint(maintenance)
		w.at(time.Now(), time.Second)
		require.Equal(t, []string{"web"}, w.left())
		var reads []string
		for request, n := range w.client.Requests() {
			if request.Verb == "get" {
				reads = append(reads, request.Resource)
				require.Equal(t, 1, n)
			}
		}
		require.ElementsMatch(t, []string{"pods", "nodes"}, reads)
	})
}
