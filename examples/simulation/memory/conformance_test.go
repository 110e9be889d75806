package memory

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver/conformance"
)

// The table holds the answers of kube-apiserver v1.37.1: examples/e2e runs it
// there.
func TestAnswersAreThoseOfTheAPIServer(t *testing.T) {
	const history = 100
	s := newSubject(t, newCluster(apiserver.Limits{History: history, Events: 10}))
	first := s.createPod("p", "")
	for i := range 2 * history {
		s.label("p", fmt.Sprint(i))
	}
	s.deletePod("p", metav1.DeleteOptions{})
	conformance.Run(t, s.client, first.ResourceVersion)
}
