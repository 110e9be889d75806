package daemon_test

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon"
)

// Somebody updates a DaemonSet, and then has second thoughts.
func ExamplePlanHistory() {
	set := &appsv1.DaemonSet{}
	set.Name, set.UID, set.ResourceVersion = "shipper", "7d1", "52"
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shipper"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "shipper", Image: "shipper:1"}}

	var revisions []*appsv1.ControllerRevision // those that the set controls
	var pods []*corev1.Pod                     // and its pods
	look := func() {
		plan, err := daemon.PlanHistory(daemon.OwnerOf(set), revisions, slices.Values(pods))
		if err != nil {
			fmt.Println(err)
			return
		}
		if plan.Create != nil {
			fmt.Printf("create number %d\n", plan.Create.Revision)
			revisions = append(revisions, plan.Create) // as the API server returns it
		}
		for _, update := range plan.Update {
			fmt.Printf("number %d becomes %d: %s\n", update.Revision.Revision, update.Number, update.Reason)
			update.Revision.Revision = update.Number
		}
	}
	look()
	set.Spec.Template.Spec.Containers[0].Image = "shipper:2"
	look()

	undo, err := daemon.PlanUndo(daemon.OwnerOf(set), revisions, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("undo with", string(undo.Patch))
	set.Spec.Template = *undo.Template // which is what the API server makes of the patch
	look()
	// Output:
	// create number 1
	// create number 2
	// undo with {"metadata":{"resourceVersion":"52","uid":"7d1"},"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"shipper"}},"spec":{"containers":[{"image":"shipper:1","name":"shipper","resources":{}}]}}}}
	// number 1 becomes 3: Outnumbered
}
