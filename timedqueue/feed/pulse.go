package feed

import (
	"context"
	"time"
)

// A Pulse reports that the watch of an informer is alive, for a core that must
// know how late a change may arrive.
type Pulse struct {
	// Informer is the informer of client-go. Required.
	Informer interface{ LastSyncResourceVersion() string }
	// Beat is called after the informer has received something. Nil is not called.
	Beat func()
	// Handler is one of the informer's handlers, usually a *Handler. Nil is none.
	Handler interface{ Expire() }
}

// Pulses checks once a second which informers have received an event, a
// bookmark or a list, and calls their Beat. It calls Expire of each Handler as
// often. It returns when ctx ends.
//
// An API server sends a bookmark about once a minute, so a watch without events
// beats as well.
func Pulses(ctx context.Context, pulses ...Pulse) {
	versions := make([]string, len(pulses))
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for i, pulse := range pulses {
			if version := pulse.Informer.LastSyncResourceVersion(); version != versions[i] {
				versions[i] = version
				if pulse.Beat != nil {
					pulse.Beat()
				}
			}
			if pulse.Handler != nil {
				pulse.Handler.Expire()
			}
		}
	}
}
