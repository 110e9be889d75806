package ownership_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// agentSet is the owner of the Examples, of a kind that Kubernetes does not
// know.
func agentSet() ownership.Owner {
	return ownership.Owner{
		Object:   &metav1.ObjectMeta{Name: "agent", Namespace: "logging", UID: "7d1"},
		Kind:     schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "AgentSet"},
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
	}
}

// Which pods belong to an owner, and which it adopts and releases.
func ExampleOwnership_Claim() {
	owner := agentSet()
	own, err := ownership.NewOwnership(owner)
	if err != nil {
		fmt.Println(err)
		return
	}

	pod := func(name, app string, owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "logging", Labels: map[string]string{"app": app}, OwnerReferences: owners,
		}}
	}
	ours := *metav1.NewControllerRef(owner.Object, owner.Kind)
	theirs := ours
	theirs.UID = "904"
	for _, p := range []*corev1.Pod{
		pod("owned", "agent", ours),
		pod("orphaned", "agent"),
		pod("relabelled", "debugging", ours),
		pod("another's", "agent", theirs),
	} {
		claim := own.Claim(p)
		fmt.Printf("%-10s %-8s %s\n", p.Name, claim.Action, claim.Reason)
	}
	// Output:
	// owned      Keep     Controlled
	// orphaned   Adopt    Orphaned
	// relabelled Release  Unselected
	// another's  Ignore   OtherController
}
