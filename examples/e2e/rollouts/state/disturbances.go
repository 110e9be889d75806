package state

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Disturbances returns what has happened to the pods and revisions of one
// cluster between two snapshots, a line for each, in order. It is empty if all
// are there, not written to since, and no other is, except pods on nodes that
// were added.
func Disturbances(before, after Snapshot, added ...string) []string {
	return append(
		disturbed("pod", pods(before), pods(after), func(pod metav1.Object) bool {
			p, is := pod.(*corev1.Pod)
			return is && slices.Contains(added, p.Spec.NodeName)
		}),
		disturbed("revision", revisions(before), revisions(after), func(metav1.Object) bool { return false })...,
	)
}

func pods(s Snapshot) map[types.UID]metav1.Object {
	all := map[types.UID]metav1.Object{}
	for i := range s.Pods {
		all[s.Pods[i].UID] = &s.Pods[i]
	}
	return all
}

func revisions(s Snapshot) map[types.UID]metav1.Object {
	all := map[types.UID]metav1.Object{}
	for i := range s.Revisions {
		all[s.Revisions[i].UID] = &s.Revisions[i]
	}
	return all
}

func disturbed(
	kind string, before, after map[types.UID]metav1.Object, expected func(metav1.Object) bool,
) []string {
	var lines []string
	for uid, object := range before {
		now, is := after[uid]
		switch {
		case !is:
			lines = append(lines, fmt.Sprintf("%s %s is gone", kind, object.GetName()))
		case now.GetDeletionTimestamp() != nil && object.GetDeletionTimestamp() == nil:
			lines = append(lines, fmt.Sprintf("%s %s is terminating", kind, object.GetName()))
		case now.GetResourceVersion() != object.GetResourceVersion():
			lines = append(lines, fmt.Sprintf("%s %s was written to", kind, object.GetName()))
		}
	}
	for uid, object := range after {
		if _, was := before[uid]; !was && !expected(object) {
			lines = append(lines, fmt.Sprintf("%s %s is new", kind, object.GetName()))
		}
	}
	slices.Sort(lines)
	return lines
}
