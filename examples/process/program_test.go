package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// worker is a controller that notes what it is asked to do.
type worker struct {
	ready   chan struct{} // closed when it may be ready
	acts    chan struct{} // closed when it acts
	fails   chan error    // an error ends its acting
	turn    sync.Mutex    // a controller that is stuck keeps it
	stopped atomic.Bool
	halted  atomic.Bool
}

func newWorker() *worker {
	return &worker{ready: make(chan struct{}), acts: make(chan struct{}), fails: make(chan error, 1)}
}

func (w *worker) Observe(ctx context.Context, ready func()) {
	select {
	case <-w.ready:
		ready()
	case <-ctx.Done():
	}
	<-ctx.Done()
}

func (w *worker) Act(ctx context.Context) error {
	close(w.acts)
	select {
	case err := <-w.fails:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (w *worker) answer() {
	w.turn.Lock()
	defer w.turn.Unlock()
}

func (w *worker) Idle(ctx context.Context) { <-ctx.Done() }

func (w *worker) service() *Service {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "worker_things_total"}))
	return &Service{
		Controller: w,
		Metrics:    registry,
		Pages: map[string]http.Handler{"/page": http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(out, "a page")
		})},
		Leadership: &record.FakeRecorder{},
		Answer:     w.answer,
		Held:       "all that the test does",
		Halt:       func() { w.halted.Store(true) },
		Resume:     func() { w.halted.Store(false) },
		Stop:       func() { w.stopped.Store(true) },
	}
}

func (w *worker) program(t *testing.T, elect bool) *Program {
	return &Program{
		Process: &commandline.Process{
			Name: "worker", LeaseName: "worker", LeaseNamespace: "kube-system",
			Serving: commandline.Serving{SecurePort: freePort(t)},
		},
		Replica: &commandline.Replica{APIQPS: 100, APIBurst: 100, LeaderElection: commandline.LeaderElection{
			Elect: elect, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		}},
		Connect: func(context.Context, Clients) (*Service, error) { return w.service(), nil },
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return portOf(t, listener)
}

func portOf(t *testing.T, listener net.Listener) int {
	t.Helper()
	address, ok := listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return address.Port
}

func get(t *testing.T, p *Program, path string) (int, string) {
	t.Helper()
	address := fmt.Sprintf("http://127.0.0.1:%d", p.Process.Serving.SecurePort)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(text)
}

func inMemory() Clients {
	cluster := memory.NewCluster()
	return Clients{
		Acting: cluster.NewClient(), Watching: cluster.NewClient(),
		Recording: cluster.NewClient(), Electing: cluster.NewClient(),
	}
}

func TestProgramServesActsAndStops(t *testing.T) {
	for _, elect := range []bool{false, true} {
		w := newWorker()
		p := w.program(t, elect)
		ctx, stop := context.WithCancel(t.Context())
		ended, clients := make(chan error), inMemory()
		go func() { ended <- p.RunOn(ctx, clients) }()
		require.Eventually(t, func() bool {
			code, _ := get(t, p, "/healthz")
			return code == http.StatusOK
		}, 2*time.Minute, 5*time.Millisecond)
		code, text := get(t, p, "/readyz")
		require.Equal(t, http.StatusInternalServerError, code)
		require.Equal(t, "caches have not synced yet\n", text)
		code, text = get(t, p, "/healthz")
		require.Equal(t, http.StatusOK, code, text)
		_, text = get(t, p, "/page")
		require.Equal(t, "a page", text)
		_, text = get(t, p, "/metrics")
		require.Contains(t, text, "worker_things_total 0")
		require.Equal(t, elect, strings.Contains(text, "\nleader_election_master_status{name=\"worker\"} 0\n"))
		require.Contains(t, text, "\ngo_goroutines ")
		require.Contains(t, text, "\nprocess_resident_memory_bytes ")

		_, err := clients.Electing.CoordinationV1().Leases("kube-system").Get(ctx, "worker", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "C4: it does not even ask to lead before its caches are filled")
		select {
		case <-w.acts:
			t.Fatal("it acts before it has seen what there is")
		default:
		}
		close(w.ready)
		<-w.acts
		require.Eventually(t, func() bool {
			code, _ := get(t, p, "/readyz")
			return code == http.StatusOK
		}, 2*time.Minute, 5*time.Millisecond)
		_, text = get(t, p, "/healthz?verbose")
		require.Contains(t, text, "[+]leaderElection ok\n[+]controller ok\n[+]halt: not halted\n")
		annotate(t, clients.Electing, elect)
		require.Eventually(t, w.halted.Load, 2*time.Minute, 5*time.Millisecond)
		code, text = get(t, p, "/healthz?verbose")
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, text, "[+]halt: halted by lifecycle.kubelife.io/halt\nhealthz check passed\n")
		_, text = get(t, p, "/metrics")
		require.Contains(t, text, "\ncontroller_halted 1\n")
		require.Contains(t, text, "# HELP controller_halted 1 while the annotation lifecycle.kubelife.io/halt "+
			"of the leader's Lease holds all that the test does.\n")
		require.Equal(t, elect, strings.Contains(text, "\nleader_election_master_status{name=\"worker\"} 1\n"))
		require.False(t, w.stopped.Load())
		stop()
		require.NoError(t, <-ended, "a signal is no failure")
		require.True(t, w.stopped.Load())
		code, _ = get(t, p, "/healthz")
		require.Zero(t, code, "no server listens any more")
	}
}

// annotate halts the program. Without an election an administrator makes the
// Lease.
func annotate(t *testing.T, client kubernetes.Interface, elected bool) {
	t.Helper()
	leases := client.CoordinationV1().Leases("kube-system")
	if !elected {
		_, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: "worker", Annotations: map[string]string{HaltAnnotation: "a test"},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
		return
	}
	patch := `{"metadata":{"annotations":{"` + HaltAnnotation + `":"a test"}}}`
	_, err := leases.Patch(t.Context(), "worker", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// What Act returns ends the program, and no other replica waits for the lease.
func TestProgramEndsWhenActingFails(t *testing.T) {
	failed := errors.New("failed")
	for _, elect := range []bool{false, true} {
		w := newWorker()
		close(w.ready)
		p := w.program(t, elect)
		clients := inMemory()
		w.fails <- failed
		require.ErrorIs(t, p.RunOn(t.Context(), clients), failed)
		require.True(t, w.stopped.Load())
		if elect {
			lease, err := clients.Electing.CoordinationV1().Leases("kube-system").Get(t.Context(), "worker", metav1.GetOptions{})
			require.NoError(t, err)
			require.Empty(t, *lease.Spec.HolderIdentity, "the lease is released")
		}
	}
}

func TestAddressInUseIsToldBeforeAnythingIsDone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	w := newWorker()
	p := w.program(t, false)
	p.Process.Serving.SecurePort = portOf(t, listener)
	require.ErrorContains(t, p.RunOn(t.Context(), inMemory()), "--secure-port: listen tcp "+listener.Addr().String())
	require.True(t, w.stopped.Load())
	select {
	case <-w.acts:
		t.Error("it acted")
	default:
	}
}

// Over a real connection. What the controller writes is sent only by the
// leader, through what the program wraps around it. The lease's client is
// apart.
func TestOnlyALeaderWrites(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if encoding := request.Header.Get("Accept-Encoding"); encoding != "" {
			t.Errorf("%s asks for an answer in %s", request.URL.Path, encoding)
		}
		if request.URL.Path != "/version" {
			seen = append(seen, request.Method+" "+request.URL.Path+" of "+request.UserAgent())
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major": "1"}`)
	}))
	defer server.Close()
	var wrapped atomic.Int32
	connected := errors.New("connected")
	for _, elect := range []bool{true, false} {
		p := newWorker().program(t, elect)
		p.Process.Master = server.URL
		p.Wrap = func(inner http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				wrapped.Add(1)
				return inner.RoundTrip(request)
			})
		}
		var writing error
		p.Connect = func(ctx context.Context, clients Clients) (*Service, error) {
			_, writing = clients.Acting.CoreV1().Nodes().
				Patch(ctx, "n", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			if err := clients.Electing.CoreV1().Nodes().Delete(ctx, "lease", metav1.DeleteOptions{}); err != nil {
				return nil, err
			}
			return nil, connected
		}
		config, found, err := RESTConfig(p.Process, p.Replica)
		require.NoError(t, err)
		require.True(t, found)
		config.Insecure = true
		require.ErrorIs(t, p.Run(t.Context(), config), connected)
		if elect {
			require.ErrorIs(t, writing, errFenced)
			require.Equal(t, []string{"DELETE /api/v1/nodes/lease of worker"}, seen)
		} else {
			require.NotErrorIs(t, writing, errFenced)
			require.Contains(t, seen, "PATCH /api/v1/nodes/n of worker")
		}
	}
	require.Equal(t, int32(2), wrapped.Load(), "the acting client's two writes")
}

func TestUnreachableClusterIsToldAtOnce(t *testing.T) {
	p := newWorker().program(t, true)
	config := &rest.Config{Host: fmt.Sprintf("http://127.0.0.1:%d", freePort(t))}
	require.ErrorContains(t, p.Run(t.Context(), config), "reach the API server at "+config.Host)
}
