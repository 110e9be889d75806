package kubelets

import "github.com/kubelife/lifecycle/examples/hollownode/life"

// beats are the heartbeats of machines for the edge.
type beats struct {
	life.Beats

	kubelets *Kubelets
}

// Pause makes a machine silent. To the edge it is silent without an API server
// too, but then its renewals fail and are retried.
func (b beats) Pause(name string) bool {
	if b.kubelets.world.Machine(name).Silent() {
		return b.Beats.Pause(name)
	}
	return b.Resume(name)
}

// Changed has a status reported at once, when the kubelet wants that by itself.
func (b beats) Changed(name string) bool { return b.kubelets.seeing || b.Beats.Changed(name) }
