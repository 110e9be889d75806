package hollow

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// readiness remembers when the watch has shown pods ready.
type readiness struct {
	mu   sync.Mutex
	last map[string]time.Time // by node, of those that stay
}

// watchReady begins to remember, until the cluster stops.
func (c *life) watchReady() (*readiness, error) {
	r := &readiness{last: map[string]time.Time{}}
	_, err := c.informers.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, object any) {
			before, isPod := old.(*corev1.Pod)
			if pod, is := object.(*corev1.Pod); is && isPod {
				r.see(before, pod, time.Now())
			}
		},
	})
	return r, err
}

// see takes the time when a pod that stays becomes ready.
func (r *readiness) see(before, pod *corev1.Pod, now time.Time) {
	if pod.Labels["app"] != stays || isReady(before) || !isReady(pod) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[pod.Spec.NodeName] = now
}

// slowest returns the longest time from the return of a node until its pod was
// ready.
func (r *readiness) slowest(returned map[string]time.Time) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var slowest time.Duration
	for node, at := range returned {
		ready, seen := r.last[node]
		if !seen {
			return 0, fmt.Errorf("%w: no watch has shown the pod of %s ready", errMissing, node)
		}
		slowest = max(slowest, ready.Sub(at))
	}
	return slowest, nil
}
