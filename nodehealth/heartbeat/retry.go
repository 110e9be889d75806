package heartbeat

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// retryWait returns a random wait whose maximum doubles with each failure, from
// a 32nd of the interval up to all of it. Its minimum is half of that. With the
// kubelet's 10 s it is 0.16 to 0.31 s after the first failure, and 5 to 10 s
// from the sixth on. The kubelet tries five times without a pause and then
// waits 10 s (maxUpdateRetries in
// k8s.io/component-helpers/apimachinery/lease/controller.go).
func retryWait(interval time.Duration, failures int, random float64) time.Duration {
	half := timedqueue.Backoff{Initial: interval / 64, Max: interval / 2}
	return scale(half.Delay(failures-1), 1+random)
}

func scale(d time.Duration, factor float64) time.Duration {
	return time.Duration(float64(d) * factor)
}
