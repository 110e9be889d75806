package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/running"
	"github.com/kubelife/lifecycle/examples/process/sight"
)

// A Controller is what a program runs on a cluster. Each method returns soon
// after its context has ended, and only when all that it started has stopped.
type Controller interface {
	// Observe fills the controller from the cluster and keeps it up to date. It
	// calls ready once all that existed has been seen.
	Observe(ctx context.Context, ready func())
	// Act does the controller's work. It is called once, after ready and while
	// Observe runs. An error ends the program after the leader's lease has been
	// released.
	Act(ctx context.Context) error
	// Idle keeps a controller that does not act from falling behind, while another
	// replica leads.
	Idle(ctx context.Context)
}

// A Service is a controller that was connected to a cluster, and what the
// process shows of it.
type Service struct {
	Controller
	// Metrics are served at /metrics, with those of the process and its clients.
	Metrics prometheus.Gatherer
	// Pages are served at their paths, to one caller at a time and for at most 30
	// s, after which the request's context ends. Nil is none.
	Pages map[string]http.Handler
	// Leadership records Events about which replica leads.
	Leadership record.EventRecorder
	// Answer returns once the controller has answered, for example once its lock
	// was free. When it does not return for 20 s, the process gives up the lease
	// and ends with [ErrStuck]. Required.
	Answer func()
	// Answered is called when the API server had answered a write that was sent at
	// a time, or has shown one of the leader, about once in a retry period of the
	// leader election, whether or not this replica leads. Unanswered is called when
	// such a call has failed. So the controller knows whether it would hear of a
	// heartbeat. Nil does nothing.
	Answered   func(now, sent time.Time)
	Unanswered func()
	// Halt holds what the controller does to make pods leave, and Resume lets it
	// go on: see [HaltAnnotation]. Required.
	Halt, Resume func()
	// Held is what Halt holds, for the help of the metric controller_halted: "all
	// evictions". Required.
	Held string
	// Stop is called in the end. Nil does nothing.
	Stop func()
}

// A Program runs a controller on a cluster. All fields but Wrap are required.
type Program struct {
	Process *commandline.Process
	Replica *commandline.Replica
	// Wrap is put around the transport of the acting client.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Connect sets up the controller. Its context is the program's.
	Connect func(ctx context.Context, clients Clients) (*Service, error)
}

// Run runs the program on the cluster until ctx ends, which is no error. Other
// ends are: the lease is lost, which is [ErrLost], or something fails. While
// another replica may lead, no write of the acting client is sent.
//
// It shows the rest_client_* metrics. The hooks of client-go that fill them are
// global, so only the first Run of a process does.
func (p *Program) Run(ctx context.Context, config *rest.Config) error {
	shown := processMetrics()
	hooks, err := clientMetrics(shown)
	if err != nil {
		return err
	}
	metrics.Register(hooks)
	if err = reach(ctx, config); err != nil {
		return err
	}
	guard := &fence{duration: p.Replica.LeaderElection.LeaseDuration}
	wrap := []func(http.RoundTripper) http.RoundTripper{}
	if p.Replica.LeaderElection.Elect {
		wrap = append(wrap, guard.transport)
	}
	if p.Wrap != nil {
		wrap = append(wrap, p.Wrap)
	}
	clients, err := newClients(config, p.Replica, p.Process.Shadow, wrap)
	if err != nil {
		return err
	}
	return p.run(ctx, clients, false, guard, shown)
}

// RunOn is Run with clients that are there already, of a cluster in memory say.
// As there is no API server to ask about callers, it serves plain HTTP on
// loopback. Their transports are not wrapped. A leader that was not awake when
// its lease ended is kept from writing only by the end of Act's context.
func (p *Program) RunOn(ctx context.Context, clients Clients) error {
	guard := &fence{duration: p.Replica.LeaderElection.LeaseDuration}
	return p.run(ctx, clients, true, guard, processMetrics())
}

// run serves what is shown besides the metrics of the controller.
func (p *Program) run(
	ctx context.Context, clients Clients, plain bool, guard *fence, shown *prometheus.Registry,
) error {
	service, err := p.Connect(ctx, clients)
	if err != nil {
		return err
	}
	if service.Stop != nil {
		defer service.Stop()
	}
	halting := &halter{
		namespace: p.Process.LeaseNamespace, name: p.Process.Lease(),
		client: clients.Watching, recorder: service.Leadership,
		leads: func() bool { return !p.Replica.LeaderElection.Elect || guard.valid(time.Now()) },
		halt:  service.Halt, resume: service.Resume, held: service.Held,
	}
	if err = shown.Register(halting.collector()); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	all := prometheus.Gatherers{service.Metrics, shown}
	dog := &watchdog{}
	server, err := newServer(ctx, p.Process, plain, all, service.Pages, &health{
		checks: []check{
			{"leaderElection", func(*http.Request) error { return guard.check(time.Now()) }},
			{"controller", func(*http.Request) error { return dog.check() }},
		},
		halted: halting.state,
	})
	if err != nil {
		return err
	}
	guard.sight = sight.Sight{Answered: service.Answered, Unanswered: service.Unanswered}
	elect := &election{
		namespace: p.Process.LeaseNamespace, name: p.Process.Lease(),
		timing: p.Replica.LeaderElection, client: clients.Electing, recorder: service.Leadership,
		fence:    guard,
		resigned: make(chan struct{}), released: make(chan struct{}),
	}
	if p.Replica.LeaderElection.Elect {
		if err = shown.Register(elect.collector()); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return unlessStuck(ctx, dog, service.Answer, elect, func(ctx context.Context) error {
		ready, told := make(chan struct{}), make(chan struct{})
		return running.Together(ctx,
			server.Run,
			func(ctx context.Context) error {
				service.Observe(ctx, func() {
					server.ready.Store(true)
					close(ready)
				})
				return nil
			},
			func(ctx context.Context) error {
				return halting.run(ctx, func() { close(told) })
			},
			func(ctx context.Context) error {
				// A replica whose caches never fill would lead for ever, and one that does
				// not know whether it is halted must not act.
				for _, known := range []chan struct{}{ready, told} {
					select {
					case <-known:
					case <-ctx.Done():
						return nil
					}
				}
				if p.Replica.LeaderElection.Elect {
					return elect.run(ctx, service.Act, service.Idle)
				}
				if service.Answered == nil && service.Unanswered == nil {
					return service.Act(ctx) // a probe would tell nothing that is asked for
				}
				asking := &sight.Probe{
					Client: clients.Electing, Namespace: p.Process.LeaseNamespace, Name: p.Process.Lease() + "-probe",
					Period: p.Replica.LeaderElection.RetryPeriod, Sight: &guard.sight,
				}
				return running.Together(ctx, service.Act, asking.Run)
			},
		)
	})
}

// unlessStuck calls run and returns when that does, or when the controller is
// stuck and the lease was given up. It does not wait for run then.
func unlessStuck(
	ctx context.Context, dog *watchdog, answer func(), elect *election, run func(context.Context) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	ended, stuck := make(chan error, 1), make(chan error, 1)
	go func() { ended <- run(ctx) }()
	go func() { stuck <- dog.run(watching, answer) }()
	select {
	case err := <-ended:
		return err
	case err := <-stuck:
		elect.giveUp()
		return err
	}
}

// Jitter lengthens a wait by up to a fifth, so that what failed together does
// not come back together. It is for timedqueue.Backoff.
func Jitter() float64 { return rand.Float64() / 5 }
