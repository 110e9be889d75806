package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

// A subject is a program that declares silent nodes Unknown.
type subject struct {
	// Name is what --subject calls it, Title the head of its column.
	Name, Title string
	// Build returns the path of the program.
	Build func(ctx context.Context, dir string, progress io.Writer) (string, error)
	// Args are the arguments that only it understands.
	Args func(times) []string
}

// FlagName is what --subject calls it.
func (s subject) FlagName() string { return s.Name }

func subjects() []subject {
	return []subject{
		{
			Name:  "ours",
			Title: "examples/nodelifecycle",
			Build: func(ctx context.Context, dir string, _ io.Writer) (string, error) {
				return sidebyside.BuildOurs(ctx, dir, "nodelifecycle")
			},
			Args: func(t times) []string {
				return []string{
					"--secure-port=0",
					"--node-heartbeat-interval=" + t.beat.String(),
				}
			},
		},
		{
			Name:  "upstream",
			Title: "kube-controller-manager v1.37.1",
			Build: func(ctx context.Context, _ string, progress io.Writer) (string, error) {
				return sidebyside.BuildUpstream(ctx, progress)
			},
			Args: func(times) []string {
				return []string{
					"--controllers=node-lifecycle-controller,taint-eviction-controller",
					"--secure-port=0",
				}
			},
		},
	}
}

// common are the arguments of all subjects. The rate of taints is ten times the
// default, so that a wrong declaration shows in the pods within the minutes of
// a play.
func (t times) common(elect bool) []string {
	return []string{
		"--node-monitor-grace-period=" + t.grace.String(),
		"--node-startup-grace-period=" + t.grace.String(),
		"--node-monitor-period=5s",
		"--kube-api-qps=200", "--kube-api-burst=200",
		"--node-eviction-rate=1",
		"--leader-elect=" + strconv.FormatBool(elect),
		"--v=2",
	}
}

// user is the name of the subject for the API server. The audit log has it.
const user = "subject"

// replicas are the processes of a subject. The first leads from the start.
type replicas struct {
	world   *world
	proxy   *proxy // nil when the subject has a direct connection
	command controlplane.Command
	all     []*controlplane.Process
	// dismissed are those that may end.
	dismissed map[int]bool
}

// newReplicas prepares a subject. Its caller calls stop.
func newReplicas(w *world, program string, args []string, behindProxy bool) (*replicas, error) {
	r := &replicas{world: w, dismissed: map[int]bool{}}
	config, err := w.plane.UserConfig(user, "system:masters")
	if err != nil {
		return nil, err
	}
	if behindProxy {
		if r.proxy, err = startProxy(config); err != nil {
			return nil, err
		}
		config = r.proxy.access(config)
	}
	kubeconfig, err := w.plane.WriteKubeconfig(config)
	if err != nil {
		r.stop()
		return nil, err
	}
	r.command = controlplane.Command{
		Path: program,
		Args: append([]string{"--kubeconfig=" + kubeconfig}, args...),
	}
	return r, nil
}

// start starts the replicas, and waits until the first works: the API server
// gives each new node a taint that the subject takes away.
func (r *replicas) start(ctx context.Context, n int) error {
	for i := range n {
		command := r.command
		log := fmt.Sprintf("%s-%d.log", filepath.Base(command.Path), i)
		command.LogFile = filepath.Join(r.world.plane.Dir(), log)
		process, err := controlplane.StartProcess(command)
		if err != nil {
			return err
		}
		r.all = append(r.all, process)
		if err := wait.Until(ctx, "the subject to take taints away", r.works); err != nil {
			return err
		}
	}
	return nil
}

// works reports whether no node has a taint any longer.
func (r *replicas) works(context.Context) (bool, error) {
	err := r.world.witness.All(r.world.fleet.AllNodes(), (*witness.Node).WantUntainted)
	return err == nil, errors.Join(err, r.alive())
}

// pause stops the leader in its tracks.
func (r *replicas) pause() error { return r.all[0].Pause() }

// resume lets it run on. One that has lost its lease ends.
func (r *replicas) resume() error {
	if len(r.all) > 1 {
		r.dismissed[0] = true
	}
	return r.all[0].Resume()
}

// kill kills the leader.
func (r *replicas) kill() {
	r.dismissed[0] = true
	r.all[0].Kill()
}

// alive returns an error with the end of the log when a replica has ended that
// should not.
func (r *replicas) alive() error {
	for i, process := range r.all {
		if !process.Running() && !r.dismissed[i] {
			return fmt.Errorf("%w\n%s", wait.ErrEnded, process.LogTail(20))
		}
	}
	return nil
}

// stop ends the replicas, and then the proxy.
func (r *replicas) stop() {
	for _, process := range r.all {
		process.Stop(5 * time.Second)
	}
	if r.proxy != nil {
		r.proxy.stop()
	}
}
