package rollout

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
)

// Config is how a [Planner] plans. Only Spec is required.
type Config struct {
	// Spec is what is wanted. [Planner.SetSpec] changes it.
	Spec Spec
	// Owner is the UID of the set. A task carries it, so that it is not performed
	// for another set, for example one that was created again under the name. The
	// names of pods follow from it, so that a planner skips those that are taken.
	// Empty: the tasks are for any owner.
	Owner types.UID
	// Nodes is the store of nodes, which other planners may use too. Nil: one of
	// its own.
	Nodes *Nodes
	// Matcher says which comparisons of tolerations are understood.
	Matcher taints.Matcher
	// Burst is how many creations, and how many deletions, may be under way or not
	// yet observed. Zero means 250, as in kube-controller-manager.
	Burst int
	// ExpectationTimeout is how long to wait for the watch to show one of our
	// writes before the pod is read, once. Zero means half a minute;
	// kube-controller-manager waits five minutes.
	ExpectationTimeout time.Duration
}

const (
	defaultBurst              = 250 // BurstReplicas of kube-controller-manager v1.37
	defaultExpectationTimeout = 30 * time.Second
)

// ErrInvalidConfig is what is wrong with a [Config] or an [ExecutorConfig].
var ErrInvalidConfig = errors.New("invalid rollout config")

// Validate joins the reasons for which [NewPlanner] refuses a configuration:
// [ErrInvalidConfig] or [ErrInvalidSpec]. A rollout that is invalid is none; see
// [Spec.Validate].
func (c Config) Validate() error {
	var problems []error
	if c.Burst < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Config.Burst is %d, want zero or more", ErrInvalidConfig, c.Burst))
	}
	if c.ExpectationTimeout < 0 {
		problems = append(problems, fmt.Errorf("%w: Config.ExpectationTimeout is %s, want zero or more",
			ErrInvalidConfig, c.ExpectationTimeout))
	}
	return errors.Join(append(problems, c.Spec.refusal())...)
}
