package feed

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrInvalidConfig is wrapped by each error that a constructor of this package
// returns.
var ErrInvalidConfig = errors.New("invalid feed config")

// Config is what a [Handler] of objects of type T needs, such as *corev1.Pod.
type Config[T metav1.Object] struct {
	// Update runs a turn of the core at once and alone, and passes it the time.
	// Required. With a dispatcher it is
	//
	//	func(turn func(now time.Time)) {
	//		dispatcher.Update(func() { turn(time.Now()) })
	//	}
	Update func(turn func(now time.Time))
	// Seen takes an object as it is now. Required. It is called inside Update.
	Seen func(now time.Time, object T)
	// Gone takes the last known state of an object that was deleted. Required. It
	// is called inside Update, also for objects that the core has not seen.
	Gone func(now time.Time, object T)
	// Store is that of the informer, as StoreOf returns it. Required, unless
	// neither Wrote nor Deleted is ever called.
	Store Store
}

// Validate joins all that is wrong with the config.
func (c Config[T]) Validate() error {
	var problems []error
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Update", c.Update == nil},
		{"Seen", c.Seen == nil},
		{"Gone", c.Gone == nil},
	} {
		if field.missing {
			problems = append(problems,
				fmt.Errorf("%w: Config.%s is nil, want a function", ErrInvalidConfig, field.name))
		}
	}
	return errors.Join(problems...)
}
