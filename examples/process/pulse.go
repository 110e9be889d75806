package process

import (
	"context"
	"time"
)

// A Pulse is how it is told that an informer's watch is alive.
type Pulse struct {
	// Informer is one of client-go.
	Informer interface{ LastSyncResourceVersion() string }
	// Beat is called after the informer has received something.
	Beat func()
}

// Pulses looks each second, until ctx ends, which informers have received
// something: an event, a bookmark, or a list. An API server sends a bookmark about
// once a minute, so that a watch on which nothing happens is known to be alive.
func Pulses(ctx context.Context, pulses ...Pulse) {
	versions := make([]string, len(pulses))
	Every(ctx, time.Second, func() {
		for i, pulse := range pulses {
			if version := pulse.Informer.LastSyncResourceVersion(); version != versions[i] {
				versions[i] = version
				pulse.Beat()
			}
		}
	})
}
