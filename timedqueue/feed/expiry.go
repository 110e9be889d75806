package feed

import (
	"context"
	"time"
)

// Expiring calls Expire of each handler once a second, until ctx ends.
func Expiring(ctx context.Context, handlers ...interface{ Expire() }) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, handler := range handlers {
			handler.Expire()
		}
	}
}
