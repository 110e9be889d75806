package apiserver

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver/conformance"
)

func TestKubeAPIServerAnswersAsTheTableSays(t *testing.T) {
	plane := controlplane.ForTest(t, controlplane.Config{})
	config := plane.RESTConfig()
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return impatient{next} })
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	for _, c := range conformance.Cases()[:2] { // writes that the restart makes old
		require.NoError(t, conformance.Check(t.Context(), client, "", c))
	}
	// A server that has just started keeps no change from before its start.
	require.NoError(t, plane.RestartAPIServer(t.Context()))
	conformance.Run(t, client, "1")
}

// impatient removes Retry-After from answers: client-go would wait and ask
// again, up to ten times.
type impatient struct{ next http.RoundTripper }

func (p impatient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(request)
	if err == nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}
