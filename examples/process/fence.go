package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kubelife/lifecycle/examples/process/sight"
)

// errFenced is what a write gets that comes when we may no longer be the
// leader.
var errFenced = errors.New("not sent: the leader's lease is not valid any more")

// A fence lets writes through only while our leader's lease is valid. Leader
// election alone does not stop a leader that slept through the end of its lease
// from finishing what it was about to write.
type fence struct {
	duration time.Duration
	// sight is told what comes of the calls about the lease.
	sight sight.Sight
	// until is when the lease ends, as unix nanoseconds by the wall clock: unlike
	// the monotonic one it goes on while the machine is suspended. It is zero while
	// there is none.
	until atomic.Int64
	// won says that the lease was ours at some time.
	won atomic.Bool
	// ended is called when our lease has ended, and we are about to renew it. Nil
	// does nothing.
	ended func()
}

// renewed records a renewal that succeeded. It counts from when it was
// sent: others count the lease from then or later.
func (f *fence) renewed(sent time.Time) { f.until.Store(sent.Add(f.duration).UnixNano()) }

func (f *fence) valid(now time.Time) bool { return now.UnixNano() < f.until.Load() }

// check says that the process is ill if our lease has ended, for as long as a
// lease lasts, and was not released. What acts had to stop before that.
// client-go's HealthzAdaptor, at v0.35, reads what the election writes, without
// its lock.
func (f *fence) check(now time.Time) error {
	until := f.until.Load()
	if until == 0 || now.UnixNano() < until+f.duration.Nanoseconds() {
		return nil
	}
	return fmt.Errorf("the leader's lease ended at %s, and its work has not",
		time.Unix(0, until).UTC().Format(time.RFC3339))
}

// lock wraps a resource lock so that the fence sees the renewals.
func (f *fence) lock(inner resourcelock.Interface) resourcelock.Interface {
	return &fencedLock{Interface: inner, fence: f}
}

type fencedLock struct {
	resourcelock.Interface
	fence *fence
	// read is the lease as it was read last, at readAt; nil if it was not.
	read   []byte
	readAt time.Time
}

func (l *fencedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	var written time.Time
	if l.read != nil && !bytes.Equal(raw, l.read) {
		written = l.readAt
	}
	l.fence.sight.Read(written, err)
	if err == nil {
		l.read, l.readAt = raw, time.Now()
	}
	return record, raw, err
}

func (l *fencedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

func (l *fencedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *fencedLock) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	sent, renews := time.Now(), record.HolderIdentity == l.Identity()
	if renews && l.fence.won.Load() && !l.fence.valid(sent) {
		return l.fence.end()
	}
	err := send(ctx, record)
	l.fence.sight.Wrote(sent, err)
	if err != nil {
		return err
	}
	if !renews {
		l.fence.until.Store(0) // released
		return nil
	}
	l.fence.won.Store(true)
	l.fence.renewed(sent)
	return nil
}

// end makes the process end in place of renewing a lease that has ended. Without
// a suspension of the machine the election gives up before that. In it the
// monotonic clock stood still, and so did each deadline. They are computed anew
// by the next process.
func (f *fence) end() error {
	if f.ended != nil {
		f.ended()
	}
	return errFenced
}

// transport wraps a client's transport: requests that change something are sent
// only while the lease is valid. What is under way when it ends is given up by
// the election, which ends the context of all actions before that.
func (f *fence) transport(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet || request.Method == http.MethodHead {
			return inner.RoundTrip(request)
		}
		if now := time.Now(); !f.valid(now) {
			return nil, fmt.Errorf("%s %s: %w", request.Method, request.URL.Path, errFenced)
		}
		return inner.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
