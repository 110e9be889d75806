package main

import (
	"context"
	"io"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// A subject finds silent nodes and evicts their pods. It is a user of its own
// for the API server.
type subject struct {
	// name is what --subject calls it, title the head of its column.
	name, title string
	build       func(ctx context.Context, dir string, progress io.Writer) (string, error)
	// args are the arguments that only it understands.
	args func(times) []string
}

// FlagName is what --subject calls it.
func (s subject) FlagName() string { return s.name }

func subjects() []subject {
	return []subject{
		{
			name: sidebyside.Ours, title: "examples/nodelifecycle",
			build: func(ctx context.Context, dir string, _ io.Writer) (string, error) {
				return sidebyside.BuildOurs(ctx, dir, "nodelifecycle")
			},
			// kube-controller-manager has no such flag.
			args: func(t times) []string { return []string{"--node-heartbeat-interval=" + t.beat.String()} },
		},
		{
			name: "upstream", title: "kube-controller-manager v1.37.1",
			build: func(ctx context.Context, _ string, progress io.Writer) (string, error) {
				return sidebyside.BuildUpstream(ctx, progress)
			},
			args: func(times) []string {
				return []string{"--controllers=node-lifecycle-controller,taint-eviction-controller"}
			},
		},
	}
}

// qps is how many API calls a second a client may send.
const qps = 20

// common are the arguments of all subjects. The limits of calls are the
// defaults, and so are the periods in usual.
func (t times) common() []string {
	return []string{
		"--kube-api-qps=20", "--kube-api-burst=30", "--node-eviction-rate=10",
		"--node-monitor-grace-period=" + t.grace.String(), "--node-monitor-period=" + t.period.String(),
		"--leader-elect=false", "--secure-port=0",
	}
}
