package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
)

// The answer to a creation is lost and the template changes. The same creation is
// sent again, whether its pod has landed or never does. At no time are there two.
func TestACreationWithoutAnAnswerHoldsTheNextTemplate(t *testing.T) {
	for what, lands := range map[string]bool{"it has landed": true, "it never lands": false} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.addNode("ant")
			w.addSet("agent")
			var land func() *corev1.Pod
			w.loses = func(task any) bool {
				change, ok := task.(controller.ChangePod)
				if !ok || change.Task.Create == nil {
					return false
				}
				pod, err := rollout.NewPod(change.Owner, change.Task.Spec, *change.Task.Create)
				require.NoError(t, err)
				makeReady(pod, w.now)
				land = func() *corev1.Pod { return w.putPod(pod) }
				return true
			}
			w.MarkSynced(w.now)
			require.Contains(t, w.run(), "agent: create on ant: is lost")
			var sent []string
			w.loses = func(task any) bool {
				require.LessOrEqual(t, len(w.pods), 1)
				if change, ok := task.(controller.ChangePod); ok && change.Task.Create != nil {
					sent = append(sent, change.Task.Spec.Template.Spec.Containers[0].Image)
				}
				return false
			}
			w.changeSet("agent", setImage("agent:2"))
			w.behind = true // the watch does not show it in time
			if lands {
				land()
			}
			w.pass(2 * time.Second)
			require.Equal(t, "agent:1", sent[0])
			require.LessOrEqual(t, len(w.pods), 1)
			w.behind = false
			w.deliver()
			w.pass(time.Minute)
			require.Equal(t, []string{"ant"}, w.podsOn("agent"))
			for _, pod := range w.pods {
				require.Equal(t, "agent:2", pod.Spec.Containers[0].Image)
			}
		})
	}
}
