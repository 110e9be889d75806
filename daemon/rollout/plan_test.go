package rollout_test

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// plan is all that a planner hands out at one time.
type plan struct {
	Owner   string
	Spec    *rollout.Spec
	Create  []rollout.Creation
	Specs   []*rollout.Spec // of the creations
	Delete  []rollout.Deletion
	Refresh []rollout.Refresh
	Next    time.Time // zero: only an event makes a difference
}

func (p *plan) Empty() bool {
	return len(p.Create) == 0 && len(p.Delete) == 0 &&
		len(p.Refresh) == 0
}

// mostTurns bounds the turns without a task in which a planner says that there
// is more to do at once. A planner that says so without end is at fault.
const mostTurns = 200

// planOf starts all that may be started now, and asks when there is more.
func planOf(planner *rollout.Planner, now time.Time) plan {
	var all plan
	for range mostTurns {
		for task, ok := planner.Start(now); ok; task, ok = planner.Start(now) {
			all.add(task)
		}
		next, ok := planner.Next(now)
		if !ok {
			all.Next = time.Time{}
			return all
		}
		all.Next = next
		if next.After(now) {
			return all
		}
	}
	return all
}

func (p *plan) add(task rollout.Task) {
	p.Owner, p.Spec = string(task.Owner), task.Spec
	switch {
	case task.Create != nil:
		p.Create, p.Specs = append(p.Create, *task.Create), append(p.Specs, task.Spec)
	case task.Delete != nil:
		p.Delete = append(p.Delete, *task.Delete)
	case task.Refresh != nil:
		p.Refresh = append(p.Refresh, *task.Refresh)
	}
}

// ended is a step of a plan and how it ended.
type ended struct {
	Create  *rollout.Creation
	Delete  *rollout.Deletion
	Refresh *rollout.Refresh
	Spec    *rollout.Spec // that it was planned for; nil: no matter

	Pod                                             *corev1.Pod
	Gone, Released, Taken, Refused, Updated, NotNow bool
	Err                                             error
}

func (e *ended) task() rollout.Task {
	return rollout.Task{Create: e.Create, Delete: e.Delete, Refresh: e.Refresh, Spec: e.Spec}
}

func (e *ended) result() rollout.Result {
	result := rollout.Result{Outcome: rollout.OutcomeDone, Pod: e.Pod, Err: e.Err}
	switch {
	case e.NotNow:
		result.Outcome = rollout.OutcomeNotNow
	case e.Refused:
		result.Outcome = rollout.OutcomeRefused
	case e.Err != nil:
		result.Outcome = rollout.OutcomeFailed
	case e.Updated:
		result.Outcome = rollout.OutcomeUpdated
	case e.Gone:
		result.Outcome = rollout.OutcomeGone
	case e.Released:
		result.Outcome = rollout.OutcomeReleased
	case e.Taken:
		result.Outcome = rollout.OutcomeNameTaken
	}
	return result
}

// finish tells a planner how a step ended.
func finish(planner *rollout.Planner, now time.Time, e ended) {
	planner.Finish(now, e.task(), e.result())
}

// perform has a step performed and says how it ended.
func perform(
	ctx context.Context,
	executor *rollout.Executor,
	owner ownership.Owner,
	task rollout.Task,
) ended {
	result := executor.Act(ctx, owner, task)
	return ended{
		Create: task.Create, Delete: task.Delete, Refresh: task.Refresh, Pod: result.Pod, Err: result.Err,
		Gone:     result.Outcome == rollout.OutcomeGone,
		Released: result.Outcome == rollout.OutcomeReleased,
		Taken:    result.Outcome == rollout.OutcomeNameTaken,
		Refused:  result.Outcome == rollout.OutcomeRefused,
	}
}

// execute has all steps of a plan performed, one after the other: creations
// first, then deletions, then refreshes. The error joins theirs.
func execute(
	ctx context.Context,
	executor *rollout.Executor,
	owner ownership.Owner,
	p plan,
) ([]ended, error) {
	var results []ended
	var problems []error
	for _, task := range p.tasks() {
		results = append(results, perform(ctx, executor, owner, task))
		problems = append(problems, results[len(results)-1].Err)
	}
	return results, errors.Join(problems...)
}

func (p *plan) tasks() []rollout.Task {
	var tasks []rollout.Task
	for i := range p.Create {
		tasks = append(tasks, rollout.Task{Create: &p.Create[i]})
	}
	for i := range p.Delete {
		tasks = append(tasks, rollout.Task{Delete: &p.Delete[i]})
	}
	for i := range p.Refresh {
		tasks = append(tasks, rollout.Task{Refresh: &p.Refresh[i]})
	}
	for i := range tasks {
		tasks[i].Owner, tasks[i].Spec = types.UID(p.Owner), p.Spec
	}
	return tasks
}

// statusOf returns the status of a planner that has few nodes.
func statusOf(planner *rollout.Planner) rollout.Status {
	planner.Evaluate(time.Time{}, mostVisits)
	status, whole := planner.Status(time.Time{})
	if !whole {
		panic("more nodes than a turn visits")
	}
	return status
}
