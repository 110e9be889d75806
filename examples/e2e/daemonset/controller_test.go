package daemonset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/runner"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ours is the controller of examples/daemonset, inside the test.
type ours struct {
	*runner.Runner

	mu       sync.Mutex // guards problems
	problems []error
}

// start starts a controller, which stops when the test ends, or what it returns
// is called.
func start(t *testing.T, client kubernetes.Interface, change ...func(*runner.Config)) (*ours, func()) {
	o := &ours{}
	config := runner.Config{
		Acting: client, Watching: client,
		Finished: func(ctx context.Context, finished timedqueue.Finished) {
			task, result := finished.Task()
			failing, is := result.(interface{ Failed() error })
			if !is || ctx.Err() != nil {
				return // an Event, or it ends
			}
			if err := failing.Failed(); err != nil {
				o.note(fmt.Errorf("%T: %w", task, err))
			}
		},
	}
	for _, f := range change {
		f(&config)
	}
	var err error
	o.Runner, err = runner.NewRunner(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { o.Observe(ctx, func() { close(ready) }) })
	<-ready
	running.Go(func() { assert.NoError(t, o.Act(ctx)) })
	stop := sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return o, stop
}

func (o *ours) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.problems = append(o.problems, err)
}

// has returns what went wrong, or is wrong with a set.
func (o *ours) has() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	problems := o.problems
	o.View(func(c *controller.Controller) {
		for set := range c.Sets() {
			problems = append(problems, set.Problem)
		}
	})
	return errors.Join(problems...)
}

// isAtRest returns an error unless each set is managed and has nothing to do.
func (o *ours) isAtRest() (err error) {
	o.View(func(c *controller.Controller) {
		if c.Waiting()+c.UnderWay() > 0 {
			err = fmt.Errorf("%d sets wait, %d tasks are under way", c.Waiting(), c.UnderWay())
		}
		for set := range c.Sets() {
			if set.Phase != "managed" {
				err = fmt.Errorf("%s is %s", set.Owner, set.Phase)
			}
		}
	})
	return err
}

// blind has a client see no pods in its lists and watches.
func blind(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/pods") {
				request = request.Clone(request.Context())
				query := request.URL.Query()
				query.Set("fieldSelector", "metadata.name=none")
				request.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(request)
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
