package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// ErrInvalidConfig is wrapped by each error that a constructor of this package
// returns.
var ErrInvalidConfig = errors.New("invalid observer config")

// LeaseClient reads the leases of the namespace kube-node-lease. client-go's
// LeaseInterface implements it.
type LeaseClient interface {
	List(ctx context.Context, opts metav1.ListOptions) (*coordinationv1.LeaseList, error)
}

// Config is what an [Observer] needs.
type Config struct {
	// Factory has the informers of nodes and leases. Required. The caller starts
	// it. A factory of informers.WithNamespace(corev1.NamespaceNodeLease) watches
	// no other leases; nodes have no namespace.
	Factory informers.SharedInformerFactory
	// Leases confirms that a node is silent. Nil means that the informers are
	// believed; see the package comment. The reads need the right to list.
	Leases LeaseClient
	// OnChange is called with what has changed, one call at a time and outside of
	// all locks, and not before the caches are filled. What changes while it runs is
	// told in the next call. Nil means none.
	OnChange func(view *View, change Change)

	// Health says when a node is silent. Two of its defaults differ here. A zero
	// GracePeriod means 25 s, in which two heartbeats of a kubelet are missing. A
	// zero SightTimeout means 12 s, a little more than the interval of a kubelet's
	// heartbeats, because those of one node are enough.
	Health nodehealth.Config
	// Zones and ZoneOf are those of a TrackerConfig.
	Zones  zone.Config
	ZoneOf func(*corev1.Node) string
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var missing error
	if c.Factory == nil {
		missing = fmt.Errorf("%w: Config.Factory is nil, want the informers of nodes and leases",
			ErrInvalidConfig)
	}
	return errors.Join(missing, c.tracker().Validate())
}

// tracker returns the settings of the Observer's Tracker.
func (c Config) tracker() TrackerConfig {
	c.Health.GracePeriod = cmp.Or(c.Health.GracePeriod, 25*time.Second)
	c.Health.SightTimeout = cmp.Or(c.Health.SightTimeout, 12*time.Second)
	return TrackerConfig{
		Health: c.Health, Zones: c.Zones, ZoneOf: c.ZoneOf, Confirm: c.Leases != nil,
	}
}

// TrackerConfig holds the settings of a [Tracker]. The zero value is valid.
type TrackerConfig struct {
	// Health says when a node is silent. Its defaults are those of nodehealth.
	Health nodehealth.Config
	// Zones says when a zone is disrupted.
	Zones zone.Config
	// ZoneOf names the zone of a node. Nil means zone.ByTopology.
	ZoneOf func(*corev1.Node) string
	// Confirm says that a node counts as silent after a read of its lease. The
	// Tracker then hands out tasks ActionRead.
	Confirm bool
}

// Validate joins all that is wrong with the config.
func (c TrackerConfig) Validate() error {
	var health, zones error
	if err := c.Health.Validate(); err != nil {
		health = fmt.Errorf("%w: Health: %w", ErrInvalidConfig, err)
	}
	if err := c.Zones.Validate(); err != nil {
		zones = fmt.Errorf("%w: Zones: %w", ErrInvalidConfig, err)
	}
	return errors.Join(health, zones)
}
