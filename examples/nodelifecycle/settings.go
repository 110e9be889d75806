package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
)

// settings are all flags: how the controller behaves, and how this program
// reaches a cluster and is reached.
type settings struct {
	options.Options

	kubeconfig, master        string
	bindAddress               string
	verbosity                 int
	leaseName, leaseNamespace string
}

func (s *settings) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "Path to a kubeconfig file with authorization and API server location. With neither it nor --master, and outside a cluster, a demonstration runs on a cluster in memory.")
	flags.StringVar(&s.master, "master", "", "The address of the Kubernetes API server. It overrides the one in the kubeconfig.")
	flags.StringVar(&s.bindAddress, "metrics-bind-address", ":10270", "The address on which /metrics, /healthz and /readyz are served.")
	flags.IntVarP(&s.verbosity, "v", "v", 0, "Log verbosity: 2 tells about each write, 4 about each decision.")
	flags.StringVar(&s.leaseName, "leader-elect-resource-name", "nodelifecycle", "The name of the lease.")
	flags.StringVar(&s.leaseNamespace, "leader-elect-resource-namespace", "kube-system", "The namespace of the lease.")
	s.AddFlags(flags)
}

func (s *settings) validate() error {
	var address error
	if _, _, err := net.SplitHostPort(s.bindAddress); err != nil {
		address = fmt.Errorf("--metrics-bind-address: %w", err)
	}
	return errors.Join(address, s.Validate())
}
