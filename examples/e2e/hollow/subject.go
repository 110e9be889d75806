package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/versus"
)

// A subject runs the nodes. It is a user of its own for the API server.
type subject struct {
	// name is what messages call it, title the head of its column.
	name, title string
	path        func(programs) string
	args        func(programs) []string
	// argsOf, unless it is nil, makes it a process for each node, with arguments
	// of its own. Of such a subject only the calls count, on few nodes.
	argsOf func(node string) ([]string, error)
}

// mostProcesses is how many nodes a subject has that is a process for each.
const mostProcesses = 10

// sized returns the options of the play of a subject.
func (s subject) sized(o options) options {
	if s.argsOf != nil {
		share := max(1, o.pods/o.nodes)
		o.nodes = min(o.nodes, mostProcesses)
		o.pods = min(o.pods, o.nodes*share)
	}
	return o
}

// FlagName is what --subject calls it.
func (s subject) FlagName() string { return s.name }

const (
	kwokName = "kwok"
	// It is not required by go.mod, which would get its requirements.
	kwokModule  = "sigs.k8s.io/kwok"
	kwokVersion = "v0.8.0"

	kwokProgram controlplane.Binary = kwokModule + "/cmd/kwok"

	kubeletName = "kubelet"
)

func subjects() []subject {
	return []subject{
		{
			name: versus.Ours, title: "examples/hollownode",
			path: func(p programs) string { return p.ours },
			args: func(programs) []string { return []string{"--leader-elect=false", "--secure-port=0", "--events=false"} },
		},
		{
			name: kwokName, title: "kwok " + kwokVersion,
			path: func(p programs) string { return p.kwok },
			args: func(p programs) []string {
				args := []string{"--manage-all-nodes", "--node-lease-duration-seconds=40"}
				for _, stage := range kwokStages() {
					args = append(args, "--config="+filepath.Join(p.kwokSource, filepath.FromSlash(stage)))
				}
				return args
			},
		},
		{
			name: kubeletName, title: "kubelet v1.37.1, by kubemark",
			path: func(p programs) string { return p.kubemark }, argsOf: kubemarkArgs,
		},
	}
}

// kubemarkArgs are those of one kubelet whose runtime runs nothing.
func kubemarkArgs(node string) ([]string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return []string{
		"--morph=kubelet", "--name=" + node, "--use-host-image-service=false",
		"--kubelet-port=" + port, "--kubelet-read-only-port=0",
	}, errors.Join(err, listener.Close())
}

// kwokStages say what kwok writes: files of its own repository. They are the
// fast ones of pods and nodes, and the report of a node each 10 minutes.
func kwokStages() []string {
	return []string{
		"kustomize/stage/pod/fast/pod-ready.yaml",
		"kustomize/stage/pod/fast/pod-complete.yaml",
		"kustomize/stage/pod/fast/pod-delete.yaml",
		"kustomize/stage/node/fast/node-initialize.yaml",
		"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	}
}

// programs are the paths of what the plays run, and of the source of kwok.
type programs struct{ ours, kwok, kwokSource, kubemark string }

// build builds the programs, ours into a folder. One of ours that is there
// already is taken as it is.
func build(ctx context.Context, dir, program string, progress io.Writer) (p programs, err error) {
	p.ours = program
	if program == "" {
		if p.ours, err = versus.BuildOurs(ctx, dir, "hollownode"); err != nil {
			return p, err
		}
	}
	config := controlplane.BuildConfig{Progress: progress}
	if p.kwok, err = controlplane.Install(ctx, config, kwokProgram, kwokVersion); err != nil {
		return p, err
	}
	if p.kwokSource, err = moduleSource(ctx, dir, kwokModule+"@"+kwokVersion); err != nil {
		return p, err
	}
	built, err := controlplane.Build(ctx, config, controlplane.Kubemark)
	p.kubemark = built[controlplane.Kubemark]
	return p, err
}

// moduleSource returns the folder of a module in Go's cache.
func moduleSource(ctx context.Context, dir, module string) (string, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir = dir // outside of this module, whose go.mod must not change
	out, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	return found.Dir, nil
}
