package conformance

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/server/options"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// departedServingFlags are flags of kube-controller-manager that the programs
// do not have, and why. An entry for one that they have is a failure.
var departedServingFlags = map[string]string{
	"cert-dir":                         "a certificate that is made is in memory",
	"disable-http2-serving":            "HTTP/1.1 is all there is",
	"http2-max-streams-per-connection": "HTTP/1.1 is all there is",
	"permit-address-sharing":           "the port is for one process",
	"permit-port-sharing":              "the port is for one process",
	"tls-curve-preferences":            "Go's are used",
	"tls-sni-cert-key":                 "there is one certificate",
}

// C5: the flags about serving are kube-controller-manager's, and so are their
// defaults and types.
func TestC5ServingFlagsAreUpstreams(t *testing.T) {
	const port = 10257
	upstream := pflag.NewFlagSet("", pflag.ContinueOnError)
	serving := options.NewSecureServingOptions()
	serving.BindPort = port
	serving.AddFlags(upstream)
	options.NewDelegatingAuthenticationOptions().AddFlags(upstream)
	options.NewDelegatingAuthorizationOptions().AddFlags(upstream)

	ours := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(commandline.Serving).AddFlags(ours, port)
	upstream.VisitAll(func(flag *pflag.Flag) {
		found := ours.Lookup(flag.Name)
		if why, departed := departedServingFlags[flag.Name]; departed {
			require.Nil(t, found, "--%s: %s", flag.Name, why)
			return
		}
		require.NotNil(t, found, "--%s", flag.Name)
		require.Equal(t, flag.DefValue, found.DefValue, "--%s", flag.Name)
		require.Equal(t, flag.Value.Type(), found.Value.Type(), "--%s", flag.Name)
	})
	ours.VisitAll(func(flag *pflag.Flag) {
		require.NotNil(t, upstream.Lookup(flag.Name), "--%s", flag.Name)
	})
}
