package evicting

import (
	"errors"
	"fmt"

	"github.com/kubelife/lifecycle/eviction"
)

// ErrInvalidClients is wrapped by the errors of NewAction.
var ErrInvalidClients = errors.New("invalid clients for evictions")

// Clients is what an action needs.
type Clients struct {
	// Pods returns the pod client of a namespace. Required.
	Pods func(namespace string) eviction.EvictionClient
	// Nodes reads nodes. Required with Options.Confirm.
	Nodes eviction.NodeClient
	// NewDeletion returns the action that deletes pods. It sends no more requests
	// than an eviction.Deleter with that config, which is what nil means.
	NewDeletion func(eviction.DeleterConfig) (eviction.Action, error)
}

// validate reports the first client that the options need and that is missing.
func (c Clients) validate(o *Options) error {
	switch {
	case c.Pods == nil:
		return fmt.Errorf("%w: Pods is nil", ErrInvalidClients)
	case c.Nodes == nil && o.Confirm:
		return fmt.Errorf("%w: Nodes is nil", ErrInvalidClients)
	}
	return nil
}

// Requests returns the most requests that the action of NewAction sends for a
// task; see eviction.Deleter, which sends more than an eviction.Evictor.
func (o *Options) Requests() int {
	if o.Confirm {
		return 12
	}
	return 3
}

// NewAction returns the action that the options ask for. The options must have
// passed Check.
func (o *Options) NewAction(clients Clients) (eviction.Action, error) {
	if err := clients.validate(o); err != nil {
		return nil, err
	}
	var confirm eviction.NodeClient
	if o.Confirm {
		confirm = clients.Nodes
	}
	if clients.NewDeletion == nil {
		clients.NewDeletion = deletion
	}
	deletes, err := clients.NewDeletion(eviction.DeleterConfig{
		Pods:    func(namespace string) eviction.PodClient { return clients.Pods(namespace) },
		Confirm: confirm,
	})
	if err != nil {
		return nil, err
	}
	evict, err := eviction.NewEvictor(eviction.EvictorConfig{Pods: clients.Pods, Confirm: confirm})
	if err != nil {
		return nil, err
	}
	switch o.Action {
	case Evict:
		return evict.Act, nil
	case EvictThenDelete:
		return eviction.EvictThenDelete(evict.Act, deletes, o.EvictFor), nil
	case DryRun:
		return eviction.DryRun(func(eviction.Task) {}), nil // its outcome tells
	}
	return deletes, nil
}

func deletion(config eviction.DeleterConfig) (eviction.Action, error) {
	deleter, err := eviction.NewDeleter(config)
	if err != nil {
		return nil, err
	}
	return deleter.Act, nil
}
