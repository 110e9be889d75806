package daemonset

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/daemonset/runner"
)

var errLost = errors.New("connection reset by the test, after the API server has answered")

// lossy loses the answers to every third creation and deletion of a pod. They
// were done.
type lossy struct {
	http.RoundTripper
	calls *atomic.Int64
}

func (l lossy) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	ofPods := strings.Contains(request.URL.Path, "/pods") &&
		(request.Method == http.MethodPost || request.Method == http.MethodDelete)
	if err != nil || !ofPods || l.calls.Add(1)%3 != 0 {
		return response, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	return nil, errLost
}

// lossyUser returns a client with a lossy connection, and how many creations and
// deletions of pods it has sent.
func (c *cluster) lossyUser() (client kubernetes.Interface, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	return c.user("ours", func(config *rest.Config) {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lossy{next, calls} })
	}), calls
}

// TestLostAnswersMakeNoSecondPod: kube-controller-manager lets the API server
// choose the names, so that a creation whose answer was lost is done again
// under another.
func TestLostAnswersMakeNoSecondPod(t *testing.T) {
	const nodes, name = 40, "agent"
	c := newCluster(t, nodes)
	c.addSet(name, 10)
	client, calls := c.lossyUser()
	ours, _ := start(t, client)
	c.rolledOut(name, nodes)
	for node, pods := range c.witness.ever() {
		require.Len(t, pods, 1, "pods that %s ever had", node)
	}
	c.setImage(name, "example.invalid/agent:2")
	c.rolledOut(name, nodes)
	for node, pods := range c.witness.ever() {
		require.Len(t, pods, 2, "pods that %s ever had", node)
	}
	require.ErrorIs(t, ours.has(), errLost)
	require.GreaterOrEqual(t, calls.Load(), int64(3*nodes))
}

// TestLostNewsStallNothing: the watch tells nothing of the pods that we make
// ourselves, and answers are lost as well. Pods are made again under their
// names, which makes no second one, and read after a while.
// kube-controller-manager waits for five minutes then.
func TestLostNewsStallNothing(t *testing.T) {
	const nodes, name = 10, "agent"
	c := newCluster(t, nodes)
	c.addSet(name, 10)
	client, calls := c.lossyUser()
	ours, _ := start(t, client, func(config *runner.Config) {
		config.Controller.Planner.ExpectationTimeout = time.Second
		config.Controller.Planner.Burst = 3 // so that what was not seen holds up the next
		config.Watching = c.user("blind", blind)
	})
	c.eventually("every node has a pod", func() error {
		living, err := c.witness.living()
		if err == nil && len(living) < nodes {
			err = fmt.Errorf("%d pods", len(living))
		}
		return err
	})
	c.eventually("creations whose answers were lost were tried again", func() error {
		if calls.Load() < nodes+nodes/3 {
			return fmt.Errorf("%d calls", calls.Load())
		}
		return nil
	})
	for node, pods := range c.witness.ever() {
		require.Len(t, pods, 1, "pods that %s ever had", node)
	}
	require.ErrorIs(t, ours.has(), errLost)
}
