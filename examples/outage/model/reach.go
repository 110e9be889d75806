package model

import (
	"math/rand/v2"
	"slices"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// reach is what keeps kubelets from the API server, apart from what cuts off
// single machines.
type reach struct {
	down          int        // how many say so
	cutOffs       int        // counts what has changed in which machines reach it
	renewalErrors []*float64 // shares of the attempts to renew a lease that fail
}

// Down makes the API server go away, for clients, for kubelets or for both,
// until up is called.
func (w *World) Down(forClients, forKubelets bool) (up func()) {
	clientsUp, kubeletsUp := func() {}, func() {}
	if forClients {
		clientsUp = w.Network.Down()
	}
	if forKubelets {
		kubeletsUp = w.cutOff()
	}
	return func() {
		kubeletsUp()
		clientsUp()
	}
}

// cutOff cuts all kubelets off from the API server.
func (w *World) cutOff() (restore func()) {
	count := func(delta, changesAt int) {
		w.reach.down += delta
		w.reach.cutOffs++
		if w.reach.down != changesAt {
			return
		}
		for _, m := range w.machines {
			w.kubelets.Reached(m)
		}
	}
	count(+1, 1)
	return func() { count(-1, 0) }
}

// ReadOnlyStore makes what clients and kubelets write fail, until mend is
// called. What the model's own controllers and users write goes on.
func (w *World) ReadOnlyStore() (mend func()) {
	restore, writable := w.cutOff(), w.ReadOnly()
	return func() {
		writable()
		restore()
	}
}

// CutOffs counts how often some machine was cut off from the API server or
// restored. While it stays the same, so does what Reaches reports of each.
func (w *World) CutOffs() int { return w.reach.cutOffs }

// FailRenewals makes a share of the attempts of kubelets to renew their leases
// fail.
func (w *World) FailRenewals(share float64) (end func()) {
	return network.During(&w.reach.renewalErrors, &share)
}

// renewalAttempts is how often a kubelet tries before it waits for the next
// time. Source: maxUpdateRetries in
// k8s.io/component-helpers/apimachinery/lease v0.37.
const renewalAttempts = 5

// failsRenewal decides whether all attempts of a kubelet are to fail.
func (r *reach) failsRenewal(random *rand.Rand) bool {
	if len(r.renewalErrors) == 0 {
		return false
	}
	for range renewalAttempts {
		failed := slices.ContainsFunc(r.renewalErrors, func(share *float64) bool { return random.Float64() < *share })
		if !failed {
			return false
		}
	}
	return true
}
