package simulation

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/outage/daemonsets"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// WorldConfig is what a [World] begins with.
type WorldConfig struct {
	// Seed decides all that is left to chance.
	Seed       uint64
	Controller controller.Config
	Kubelets   Kubelets
}

// A World is a cluster in which the controller runs. It begins empty, and
// nothing goes wrong in it unless its caller says so. It is not safe for
// concurrent use.
type World struct {
	// Client is that of users. Its namespace is [model.Namespace].
	apiserver.Client
	*model.World

	config   WorldConfig
	kubelets *kubelets
	recorder *invariant.Recorder
	process  *daemonsets.Process
	// wrap changes what the actions of the controller do. Nil leaves them.
	wrap func(controller.Actions) controller.Actions
}

// birth is when the time of each World begins.
var birth = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

// NewWorld returns a World in which the controller runs.
func NewWorld(config WorldConfig) (*World, error) {
	w := newWorld(config)
	return w, w.start()
}

func newWorld(config WorldConfig) *World {
	cluster := model.New(model.Config{
		Seed: config.Seed, Start: birth, Scheduling: config.Kubelets.Bind,
		Latency:    network.Span{Min: 2 * time.Millisecond, Max: 40 * time.Millisecond},
		WatchDelay: network.Span{Min: time.Millisecond, Max: 50 * time.Millisecond},
	})
	w := &World{
		Client: cluster.Users(), World: cluster, config: config,
		kubelets: newKubelets(cluster, config.Kubelets), recorder: invariant.Record(cluster),
	}
	requests := config.Controller.Requests
	w.History().PerSecond, w.History().Burst = float64(requests.PerSecond), requests.Burst
	cluster.Run(w.kubelets)
	return w
}

// start begins a life of the controller.
func (w *World) start() (err error) {
	decide := w.recorder.Begin()
	w.process, err = daemonsets.Start(w.World, daemonsets.Config{
		Name: "daemonsets", Life: len(w.History().Lives), Controller: w.config.Controller, Wrap: w.wrap,
		Began: func() any { return decide(w.process.Client) },
	})
	return err
}

// History returns what has happened. It grows.
func (w *World) History() *invariant.History { return w.recorder.History }

// End leaves the cluster alone until nothing is under way any more, and returns
// what has happened by then. It also returns from when on no request may have
// been sent.
func (w *World) End() (history *invariant.History, quietFrom time.Time) {
	w.Advance(w.Elapsed() + RestTime)
	w.end()
	return w.History(), w.Now().Add(-5 * time.Minute)
}

// end ends the controller and the history.
func (w *World) end() {
	w.process.End("the end")
	w.History().End = w.Now()
}

// Sets returns all DaemonSets by name. They must not be changed.
func (w *World) Sets() []*appsv1.DaemonSet {
	return model.ObjectsOf[*appsv1.DaemonSet](w.World, network.DaemonSets)
}

// Revisions returns all ControllerRevisions by name. They must not be changed.
func (w *World) Revisions() []*appsv1.ControllerRevision {
	return model.ObjectsOf[*appsv1.ControllerRevision](w.World, network.Revisions)
}
