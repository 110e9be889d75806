package hollownode

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// wantedEvents are the reasons that a kubelet gives for the pod of each story,
// in order. They follow from the source of v1.37.1: kubemark's kubelet has a
// recorder that drops them all.
var wantedEvents = map[string]string{
	"cpu":        "OutOfcpu",
	"memory":     "OutOfmemory",
	"storage":    "OutOfephemeral-storage",
	"taint":      "TaintToleration",
	"affinity":   "NodeAffinity",
	"system":     "PodOSSelectorNodeLabelDoesNotMatch",
	"overflow":   "OutOfpods",
	"plain":      "Pulled Created Started Killing",
	"two":        "Pulled Created Started Pulled Created Started Killing Killing",
	"init":       "Pulled Created Started Killing",
	"hooks":      "Pulled Created Started Killing",
	"forced":     "Pulled Created Started Killing",
	"gate":       "Pulled Created Started Killing",
	"afterwards": "Pulled Created Started Killing",
	staticStory:  "Pulled Created Started Killing",
	"deadline":   "Pulled Created Started DeadlineExceeded Killing",
}

// wantEvents waits until the API server has the events of a story. They may
// come after the states that they are about. Whether a pod finds its image on
// the node depends on which of them was first, so its pull does not count.
func (c *cluster) wantEvents(story, pod string) {
	c.Helper()
	var reasons string
	for range 50 {
		if reasons = c.reasonsOf(pod); reasons == wantedEvents[story] {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Equal(c, wantedEvents[story], reasons, "the events of %s", story)
}

// reasonsOf returns those of a pod's events. Their names end with when they
// were told.
func (c *cluster) reasonsOf(pod string) string {
	c.Helper()
	list, err := c.client.CoreV1().Events(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.kind": "Pod", "involvedObject.name": pod}.String(),
	})
	require.NoError(c, err)
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return strings.Compare(a.Name, b.Name) })
	var reasons []string
	for i := range list.Items {
		e := &list.Items[i]
		require.Equal(c, corev1.EventSource{Component: "kubelet", Host: oursNode}, e.Source)
		if e.Reason != "Pulling" {
			reasons = append(reasons, e.Reason)
		}
	}
	return strings.Join(reasons, " ")
}
