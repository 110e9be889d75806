package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// madeTimeout is how long a pod counts that the watch does not show. It is far
// above the delay of a watch that works. The watch may have shown the end of
// the pod before the answer has arrived.
const madeTimeout = time.Minute

// answered records the pod of an answer, if there is one that the watch has not
// shown.
func (c *Controller) answered(now time.Time, r *record, pod *corev1.Pod) {
	if pod == nil || !metav1.IsControlledBy(pod, r.set.Source.Owner.Object) {
		return
	}
	if known, ok := c.pods.known[keyOf(pod)]; ok && known.UID == pod.UID {
		return
	}
	r.made[pod.UID] = pod
	c.made.Add(pod.UID, r, now.Add(madeTimeout))
}

// shown forgets that only an answer has shown a pod.
func (c *Controller) shown(pod *corev1.Pod) {
	if item, ok := c.made.Get(pod.UID); ok {
		delete(item.Value.made, pod.UID)
		c.made.Remove(pod.UID)
	}
}

// expireMade forgets pods that count no longer, and has the histories of their
// sets computed again. If some are left, Next returns now.
func (c *Controller) expireMade(now time.Time) {
	for range mostExpired {
		item, ok := c.made.Start(now)
		if !ok {
			return
		}
		c.made.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		delete(item.Value.made, item.Key)
		c.tidy(now, item.Value)
	}
}

// mostExpired bounds the pods that one turn forgets.
const mostExpired = 64
