package revision_test

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

// agentSet is the owner of the Example, of a kind that Kubernetes does not
// know.
func agentSet(image string) revision.Source {
	labels := map[string]string{"app": "agent"}
	return revision.Source{
		Owner: ownership.Owner{
			Object: &metav1.ObjectMeta{Name: "agent", Namespace: "logging", UID: "7d1",
				ResourceVersion: "52"},
			Kind:     schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "AgentSet"},
			Selector: &metav1.LabelSelector{MatchLabels: labels},
		},
		Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: image}}},
		},
	}
}

// An owner's template is updated and then rolled back.
func ExampleCompute() {
	var revisions []*appsv1.ControllerRevision // that the owner controls
	var pods []*corev1.Pod                     // that it controls
	pass := func(source revision.Source) {
		plan, err := revision.Compute(source, revisions, slices.Values(pods))
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
	pass(agentSet("agent:1"))
	pass(agentSet("agent:2"))

	rollback, err := revision.ComputeRollback(agentSet("agent:2"), revisions, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	image := rollback.Template.Spec.Containers[0].Image
	fmt.Printf("roll back to number %d, %s\n", rollback.Revision.Revision, image)
	pass(agentSet(image))
	// Output:
	// create number 1
	// create number 2
	// roll back to number 1, agent:1
	// number 1 becomes 3: Outnumbered
}
