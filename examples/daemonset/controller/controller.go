package controller

import (
	"errors"
	"time"

	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

// queue holds sets that have something to do at a time.
type queue = timedqueue.Queue[types.UID, *record]

const (
	// visitsPerTurn is how many records one Start visits before it hands out a
	// task. Records are nodes, pods and revisions of all sets together, and the
	// sets. A visit takes about a microsecond.
	visitsPerTurn = 1000
	// stepsPerTurn is how many records it visits to find the task.
	stepsPerTurn = 500
)

// A Controller is the core that the package comment describes. It is not safe
// for concurrent use; a timedqueue.Dispatcher is its lock.
type Controller struct {
	config Config
	synced bool
	halted bool

	nodes     rollout.Nodes
	pods      members[*corev1.Pod]
	revisions members[*appsv1.ControllerRevision]
	sets      map[types.UID]*record
	// inOrder are all sets, and inNamespace those of a namespace, which may adopt
	// its orphans. The orders are those of the first observations.
	inOrder     []*record
	inNamespace map[string][]*record
	// left is how many records the turn may still visit. It begins with
	// visitsOfTurn, and with stepsOfTurn once a task is looked for.
	left, visitsOfTurn, stepsOfTurn int

	// Each queue has the sets for which there is such a task. In ready are those
	// whose planner has one; a set that had its turn goes to the end. In visits
	// are those of which something has changed, or whose planner waits for a time.
	claims, revises, statuses, ready, visits *queue
	// made are the sets of the pods that count until a time, by the UIDs of these
	// pods.
	made *queue

	events   []Event // to be handed out
	underWay int     // tasks, except those that record an Event
}

// NewController returns a Controller that knows nothing yet. Now must not be
// the zero time.
func NewController(config Config, now time.Time) (*Controller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	c := &Controller{
		config:       config,
		visitsOfTurn: visitsPerTurn, stepsOfTurn: stepsPerTurn,
		pods:        newMembers[*corev1.Pod](config.Kind),
		revisions:   newMembers[*appsv1.ControllerRevision](config.Kind),
		sets:        make(map[types.UID]*record),
		inNamespace: make(map[string][]*record),
	}
	retried := timedqueue.QueueConfig[types.UID, *record]{Backoff: config.Backoff}
	paced := retried
	paced.Budgets = []timedqueue.Budget[types.UID, *record]{progressBudget()}
	var plain timedqueue.QueueConfig[types.UID, *record]
	for _, q := range []struct {
		queue  **queue
		config timedqueue.QueueConfig[types.UID, *record]
	}{
		{&c.claims, retried}, {&c.revises, retried}, {&c.statuses, paced},
		{&c.ready, plain}, {&c.visits, plain}, {&c.made, plain},
	} {
		var err error
		if *q.queue, err = timedqueue.NewQueue(q.config, now); err != nil {
			return nil, errors.Join(ErrInvalidConfig, err)
		}
	}
	c.statuses.SetLimit(now, byProgress, shareLasting, rate.Inf)
	return c, nil
}

// keep has a set in a queue exactly if it belongs there. A set that is there
// keeps its place, and with it the wait after a failure.
func keep(q *queue, r *record, belongs bool, due time.Time) {
	if belongs {
		q.Add(r.uid, r, due)
	} else {
		q.Remove(r.uid)
	}
}

// visitAt has a set visited at a time, or sooner.
func (c *Controller) visitAt(r *record, due time.Time) {
	if item, ok := c.visits.Get(r.uid); !ok || item.Due.IsZero() || due.Before(item.Due) {
		c.visits.Set(r.uid, r, due)
	}
}

// tell has an Event recorded.
func (c *Controller) tell(events ...Event) { c.events = append(c.events, events...) }
