package life

import (
	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// Beats are the heartbeats of a life. They are sent when it is asked for its
// next task.
type Beats struct{ life *Life }

var _ edge.Heartbeats = Beats{}

// Beats returns those of the life.
func (l *Life) Beats() Beats { return Beats{l} }

// Add begins the heartbeats of a node.
func (b Beats) Add(node heartbeat.Node) error { return b.life.beats.Add(b.life.config.Now(), node) }

// Remove ends the heartbeats of a node.
func (b Beats) Remove(name string) bool { return b.life.beats.Remove(name) }

// Changed has the status of a node looked at at once.
func (b Beats) Changed(name string) bool { return b.life.beats.Changed(b.life.config.Now(), name) }

// Pause makes a node silent.
func (b Beats) Pause(name string) bool { return b.life.beats.Pause(b.life.config.Now(), name) }

// Resume ends the silence of a node.
func (b Beats) Resume(name string) bool { return b.life.beats.Resume(b.life.config.Now(), name) }
