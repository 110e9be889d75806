package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon/revision"
)

// mostCarriers is for how many pods of a revision a plan is computed. One task
// relabels ten.
const mostCarriers = 11

// withPods returns a world in which a set has a pod on each of so many nodes.
// Pods of other revisions are not replaced.
func withPods(t *testing.T, nodes int) (*world, *appsv1.ControllerRevision) {
	w := newWorld(t)
	for i := range nodes {
		w.addNode(nodeName(i))
	}
	w.addSet("agent", func(set *appsv1.DaemonSet) {
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	})
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	require.Len(t, w.podsOn("agent"), nodes)
	revisions := slices.Collect(maps.Values(w.revisions))
	require.Len(t, revisions, 1)
	return w, revisions[0]
}

// former adds another revision of the set, which some of its pods carry.
// Without an image it keeps the template of the current one.
func (w *world) former(of *appsv1.ControllerRevision, hash, image string, pods []string) {
	other := of.DeepCopy()
	other.Name, other.UID, other.Revision = "agent-"+hash, "", 0
	other.Labels[revision.HashLabel] = hash
	if image != "" {
		other.Data.Raw = []byte(strings.ReplaceAll(string(other.Data.Raw), "agent:1", image))
	}
	for _, name := range pods {
		w.changePod(name, func(pod *corev1.Pod) { pod.Labels[revision.HashLabel] = hash })
	}
	w.putRevision(other)
}

func (w *world) podNames() []string {
	var names []string
	for name := range w.pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// C3: pods that carry the hash of a duplicate get that of the current revision
// in slices. A plan visits a few pods of each revision, however many there are.
func TestC3TurnVisitsABoundedNumberOfPodsOfADuplicate(t *testing.T) {
	const nodes, duplicated = 3000, 1003
	w, current := withPods(t, nodes)
	hash := current.Labels[revision.HashLabel]
	w.former(current, "duplicate", "", w.podNames()[:duplicated])
	relabels := 0
	for end := w.now.Add(time.Minute); w.now.Before(end); {
		require.LessOrEqual(t, w.Carriers(w.sets["agent"].UID), 2*mostCarriers)
		task, ok := w.Start(w.now)
		if !ok {
			next, _ := w.Next(w.now)
			if w.now = w.now.Add(time.Millisecond); next.After(w.now) {
				w.now = next
			}
			if next.IsZero() {
				break
			}
			continue
		}
		if strings.Contains(w.describe(task), "relabel 1") {
			relabels++
		}
		require.NotContains(t, w.describe(task), "delete on")
		w.finish(task)
	}
	w.pass(time.Minute)
	require.Equal(t, duplicated/10, relabels, "ten a task, and three in the last one")
	require.Len(t, w.revisions, 1)
	require.Len(t, w.pods, nodes)
	for _, pod := range w.pods {
		require.Equal(t, hash, pod.Labels[revision.HashLabel])
	}
	require.True(t, w.IndexAgrees())
}

// C3: the same holds for a history beyond its limit. A revision stays as long
// as the last of its pods does.
func TestC3TurnVisitsABoundedNumberOfPodsOfALongHistory(t *testing.T) {
	const nodes, revisions = 1000, 5
	w, current := withPods(t, nodes)
	w.changeSet("agent", func(set *appsv1.DaemonSet) {
		set.Spec.RevisionHistoryLimit = ptr.To(int32(0))
	})
	w.pass(time.Minute)
	names := w.podNames()
	for i := range revisions {
		w.former(current, fmt.Sprint("former", i), fmt.Sprint("agent:0.", i), names[i*100:(i+1)*100])
	}
	w.pass(time.Minute)
	require.Len(t, w.revisions, 1+revisions, "pods carry all of them")
	require.LessOrEqual(t, w.Carriers(w.sets["agent"].UID), (1+revisions)*mostCarriers)
	for _, name := range names[:99] {
		w.removePod(name)
	}
	w.pass(time.Minute)
	require.Contains(t, w.revisions, "agent-former0", "one pod is left")
	w.removePod(names[99])
	w.pass(time.Minute)
	require.NotContains(t, w.revisions, "agent-former0")
	require.Len(t, w.revisions, revisions)
	require.True(t, w.IndexAgrees())
}

// A pod that is updated in place leaves its revision without going.
func TestARevisionGoesWhenItsLastPodCarriesAnotherOne(t *testing.T) {
	w, current := withPods(t, 2)
	w.changeSet("agent", func(set *appsv1.DaemonSet) {
		set.Spec.RevisionHistoryLimit = ptr.To(int32(0))
	})
	w.pass(time.Minute)
	names := w.podNames()
	w.former(current, "former", "agent:0", names)
	w.pass(time.Minute)
	require.Contains(t, w.revisions, "agent-former")
	for _, name := range names {
		w.changePod(name, func(pod *corev1.Pod) { pod.Labels[revision.HashLabel] = current.Labels[revision.HashLabel] })
	}
	w.pass(time.Minute)
	require.NotContains(t, w.revisions, "agent-former")
}

// A claim takes nine objects. Nine that are always refused keep a tenth waiting
// no longer than the back-off of a failure.
func TestRefusedClaimsKeepNoOthersWaiting(t *testing.T) {
	for what, pods := range map[string]int{"pods": 20, "revisions and pods": 8} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.addNode("ant")
			set := w.addSet("agent")
			w.refuses = map[string]bool{}
			for i := range 20 {
				object := metav1.ObjectMeta{
					Namespace: namespace, Name: fmt.Sprintf("orphan-%02d", i), Labels: set.Spec.Selector.MatchLabels,
				}
				w.refuses[object.Name] = i%10 != 3
				if i < pods {
					w.putPod(&corev1.Pod{ObjectMeta: object})
				} else {
					w.putRevision(&appsv1.ControllerRevision{ObjectMeta: object})
				}
			}
			w.MarkSynced(w.now)
			w.pass(time.Minute)
			adopted := 0
			for name, pod := range w.pods {
				require.Equal(t, w.refuses[name], metav1.GetControllerOf(pod) == nil, name)
				adopted += len(pod.OwnerReferences)
			}
			for name, revision := range w.revisions {
				require.Equal(t, w.refuses[name], metav1.GetControllerOf(revision) == nil, name)
				adopted += len(revision.OwnerReferences)
			}
			require.Equal(t, 2, adopted)
		})
	}
}
