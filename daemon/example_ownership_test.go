package daemon_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon"
)

// Which pods belong to a DaemonSet, and which are to.
func ExampleOwnership_Claim() {
	set := &appsv1.DaemonSet{}
	set.Name, set.Namespace, set.UID = "shipper", "logging", "7d1"
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shipper"}}
	set.Spec.Template.Labels = map[string]string{"app": "shipper"}
	owner := daemon.OwnerOf(set)
	ownership, err := daemon.NewOwnership(owner)
	if err != nil {
		fmt.Println(err)
		return
	}

	pod := func(name, app string, owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "logging", Labels: map[string]string{"app": app}, OwnerReferences: owners,
		}}
	}
	ours := *metav1.NewControllerRef(set, owner.Kind)
	theirs := ours
	theirs.UID = "904"
	for _, p := range []*corev1.Pod{
		pod("one of ours", "shipper", ours),
		pod("left behind", "shipper"),
		pod("relabelled", "debugging", ours),
		pod("another's", "shipper", theirs),
	} {
		claim := ownership.Claim(p)
		fmt.Printf("%-12s %-8s %s\n", p.Name, claim.Action, claim.Reason)
	}
	// Output:
	// one of ours  Ours     Controlled
	// left behind  Adopt    Orphaned
	// relabelled   Release  Unselected
	// another's    Leave    ControlledByOther
}
