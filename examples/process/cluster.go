package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// CallTimeout bounds what a worker does at a time. A connection that is stuck
// must not hold it for longer than an API server may take.
const CallTimeout = 30 * time.Second

// ErrNoCluster is the error of a program that has nothing to work on.
var ErrNoCluster = errors.New("no cluster: give --kubeconfig or --master, or run in a cluster")

// RESTConfig returns how to reach the cluster, and false when neither flags nor
// surroundings name one. Its requests carry the program's name, for the API
// server's audit log.
func RESTConfig(p *commandline.Process, r *commandline.Replica) (*rest.Config, bool, error) {
	var config *rest.Config
	var err error
	if p.Kubeconfig != "" || p.Master != "" {
		config, err = clientcmd.BuildConfigFromFlags(p.Master, p.Kubeconfig)
	} else {
		config, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, false, nil
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("load client configuration: %w", err)
	}
	config.UserAgent = p.Name
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS, config.Burst = r.APIQPS, r.APIBurst
	config.DisableCompression = true // as kube-controller-manager: it costs more CPU than the network
	return config, true, nil
}

// Clients are ways to the same cluster, which do not wait for one another.
type Clients struct {
	// Acting is for the controller's reads and writes. It has no limit: the
	// controller keeps the budget of requests, and would not know how long a
	// client makes them wait.
	Acting kubernetes.Interface
	// Watching is for informers.
	Watching kubernetes.Interface
	// Recording is for events.
	Recording kubernetes.Interface
	// Electing is for the leader's lease, so that it is renewed whatever the
	// controller is doing.
	Electing kubernetes.Interface
}

// newClients connects to the cluster. Every transport of wrap is put around the
// requests of the acting client. In a shadow the electing client is the only
// one that writes: the others' requests that change something are not sent.
func newClients(
	config *rest.Config, r *commandline.Replica, shadow bool,
	wrap []func(http.RoundTripper) http.RoundTripper,
) (Clients, error) {
	acting := rest.CopyConfig(config)
	acting.QPS = -1 // no limit
	for _, w := range wrap {
		acting.Wrap(w)
	}
	electing := rest.CopyConfig(config)
	if r.LeaderElection.Elect {
		// A timeout, so that a stuck connection does not cost the lease.
		electing.Timeout = r.LeaderElection.RenewDeadline / 2
	}
	watching, recording := rest.CopyConfig(config), rest.CopyConfig(config)
	if r.EventQPS != 0 {
		recording.QPS, recording.Burst = r.EventQPS, r.EventBurst
	}
	if shadow {
		for _, reading := range []*rest.Config{acting, watching, recording} {
			reading.Wrap(readOnly)
		}
	}
	var clients Clients
	for _, way := range []struct {
		client *kubernetes.Interface
		config *rest.Config
	}{
		{&clients.Acting, acting},
		{&clients.Watching, watching},
		{&clients.Recording, recording},
		{&clients.Electing, electing},
	} {
		client, err := kubernetes.NewForConfig(way.config)
		if err != nil {
			return Clients{}, fmt.Errorf("set up client: %w", err)
		}
		*way.client = client
	}
	return clients, nil
}

// reach makes sure that there is an API server. So a wrong address is reported
// at once, and not by informers that try for ever.
func reach(ctx context.Context, config *rest.Config) error {
	brief := rest.CopyConfig(config)
	brief.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(brief)
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	if _, err := client.Discovery().WithLegacy().ServerVersion(); err != nil {
		return fmt.Errorf("reach the API server at %s: %w", config.Host, err)
	}
	return ctx.Err()
}

// errShadow is what a write of a shadow gets.
var errShadow = errors.New("not sent: a shadow writes nothing")

// readOnly wraps a client's transport: requests that change something are not
// sent.
func readOnly(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet || request.Method == http.MethodHead {
			return inner.RoundTrip(request)
		}
		return nil, fmt.Errorf("%s %s: %w", request.Method, request.URL.Path, errShadow)
	})
}
