package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// ErrLost says that another replica leads, or may. The process has to end then:
// what it knows of its own writes may be no longer the newest.
var ErrLost = errors.New("lost the leader's lease")

// election decides which of several replicas acts.
type election struct {
	namespace, name string
	timing          commandline.LeaderElection
	client          kubernetes.Interface
	recorder        record.EventRecorder
	fence           *fence
	// resigned is closed to release the lease although act has not returned, and
	// released once the election has ended.
	resigned, released chan struct{}
}

// longestRelease bounds how long a process that is stuck tries to release its
// lease, which ends by itself some time later.
const longestRelease = 5 * time.Second

// giveUp releases the lease, if there is one, without waiting for act.
func (e *election) giveUp() {
	close(e.resigned)
	if !e.fence.won.Load() {
		return
	}
	select {
	case <-e.released:
	case <-time.After(longestRelease):
	}
}

// run calls act while this replica leads, and idle until then. It returns nil
// when ctx ends, ErrLost when the lease is lost, and an error of act, after
// which it releases the lease. It returns only after act and idle have
// returned.
func (e *election) run(
	ctx context.Context, act func(context.Context) error, idle func(context.Context),
) error {
	lock, err := e.lock()
	if err != nil {
		return err
	}
	// When ctx ends, acting stops first and the lease is released after that.
	// Until then the election has to go on.
	electing, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	e.fence.ended = resign
	waiting, started := context.WithCancel(ctx)
	defer started()

	var leads atomic.Bool
	defer context.AfterFunc(ctx, func() {
		if !leads.Load() {
			resign()
		}
	})()
	acted := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            e.fence.lock(lock),
		LeaseDuration:   e.timing.LeaseDuration,
		RenewDeadline:   e.timing.RenewDeadline,
		RetryPeriod:     e.timing.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            e.name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer close(acted)
				leads.Store(true)
				started()
				acting, stop := context.WithCancel(leading)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				err := act(acting)
				if err != nil || ctx.Err() != nil {
					resign()
				}
				acted <- err
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("set up leader election: %w", err)
	}
	var idling sync.WaitGroup
	defer idling.Wait()
	idling.Go(func() { idle(waiting) })
	e.elect(electing, resign, elector)
	started()
	if e.fence.won.Load() { // then act was called, or is going to be on a goroutine that has not run yet
		if err := <-acted; err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return ErrLost
}

// elect takes part in the election until electing ends, or this replica gives
// up.
func (e *election) elect(
	electing context.Context, resign func(), elector *leaderelection.LeaderElector,
) {
	defer close(e.released)
	go func() {
		select {
		case <-e.resigned:
			resign()
		case <-e.released:
		}
	}()
	elector.Run(electing)
}

// collector is the metric of an election.
func (e *election) collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "leader_election_master_status",
		Help:        "1 while this replica leads, else 0. The name is that of the lease.",
		ConstLabels: prometheus.Labels{"name": e.name},
	}, func() float64 {
		if e.fence.valid(time.Now()) {
			return 1
		}
		return 0
	})
}

func (e *election) lock() (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this replica: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.namespace, e.name,
		e.client.CoreV1(), e.client.CoordinationV1(), resourcelock.ResourceLockConfig{
			Identity:      host + "_" + string(uuid.NewUUID()),
			EventRecorder: e.recorder,
		})
	if err != nil {
		return nil, fmt.Errorf("set up leader election: %w", err)
	}
	return lock, nil
}
