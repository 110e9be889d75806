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
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// A subject runs the nodes. It is a user of its own for the API server.
type subject struct {
	// name is what messages call it, title the head of its column.
	name, title string
	// build builds its program, or finds it built.
	build func(context.Context, workshop) (program, error)
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
		{name: sidebyside.Ours, title: "examples/hollownode", build: buildOurs},
		{name: kwokName, title: "kwok " + kwokVersion, build: buildKwok},
		{name: kubeletName, title: "kubelet v1.37.1, by kubemark", build: buildKubemark, argsOf: kubemarkArgs},
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

// A program is what a play runs, with the arguments that each of its processes
// has.
type program struct {
	path string
	args []string
}

// A workshop is where programs are built: the folder for ours, which is built
// unless there is one already, and where progress is written to.
type workshop struct {
	dir, ours string
	progress  io.Writer
}

// build builds the programs of the subjects, before the first of them plays:
// the table that lacks one is of no use. The first build of the others takes
// minutes, so what no subject runs is not built.
func (w workshop) build(ctx context.Context, subjects []subject) ([]program, error) {
	programs := make([]program, len(subjects))
	for i, s := range subjects {
		var err error
		if programs[i], err = s.build(ctx, w); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

func buildOurs(ctx context.Context, w workshop) (program, error) {
	p := program{w.ours, []string{"--leader-elect=false", "--secure-port=0", "--events=false"}}
	if p.path != "" {
		return p, nil
	}
	var err error
	p.path, err = sidebyside.BuildOurs(ctx, w.dir, "hollownode")
	return p, err
}

func buildKwok(ctx context.Context, w workshop) (program, error) {
	p := program{args: []string{"--manage-all-nodes", "--node-lease-duration-seconds=40"}}
	var err error
	if p.path, err = controlplane.Install(ctx, w.config(), kwokProgram, kwokVersion); err != nil {
		return p, err
	}
	source, err := moduleSource(ctx, w.dir, kwokModule+"@"+kwokVersion)
	for _, stage := range kwokStages() {
		p.args = append(p.args, "--config="+filepath.Join(source, filepath.FromSlash(stage)))
	}
	return p, err
}

func buildKubemark(ctx context.Context, w workshop) (program, error) {
	built, err := controlplane.Build(ctx, w.config(), controlplane.Kubemark)
	return program{path: built[controlplane.Kubemark]}, err
}

func (w workshop) config() controlplane.BuildConfig {
	return controlplane.BuildConfig{Progress: w.progress}
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
