package daemon_test

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
)

// plan is all that a planner hands out at one time.
type plan struct {
	Owner   string
	Spec    *daemon.Spec
	Create  []daemon.Creation
	Delete  []daemon.Deletion
	Refresh []daemon.Refresh
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
func planOf(planner *daemon.Planner, now time.Time) plan {
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

func (p *plan) add(task daemon.Task) {
	p.Owner, p.Spec = string(task.Owner), task.Spec
	switch {
	case task.Create != nil:
		p.Create = append(p.Create, *task.Create)
	case task.Delete != nil:
		p.Delete = append(p.Delete, *task.Delete)
	case task.Refresh != nil:
		p.Refresh = append(p.Refresh, *task.Refresh)
	}
}

// ended is a step of a plan and how it ended.
type ended struct {
	Create  *daemon.Creation
	Delete  *daemon.Deletion
	Refresh *daemon.Refresh

	Pod                            *corev1.Pod
	Gone, Released, Taken, Refused bool
	Err                            error
}

func (e *ended) task() daemon.Task {
	return daemon.Task{Create: e.Create, Delete: e.Delete, Refresh: e.Refresh}
}

func (e *ended) result() daemon.Result {
	result := daemon.Result{Outcome: daemon.OutcomeDone, Pod: e.Pod, Err: e.Err}
	switch {
	case e.Refused:
		result.Outcome = daemon.OutcomeRefused
	case e.Err != nil:
		result.Outcome = daemon.OutcomeFailed
	case e.Gone:
		result.Outcome = daemon.OutcomeGone
	case e.Released:
		result.Outcome = daemon.OutcomeReleased
	case e.Taken:
		result.Outcome = daemon.OutcomeNameTaken
	}
	return result
}

// finish tells a planner how a step ended.
func finish(planner *daemon.Planner, now time.Time, e ended) {
	planner.Finish(now, e.task(), e.result())
}

// perform has a step performed and says how it ended.
func perform(
	ctx context.Context,
	executor *daemon.Executor,
	owner ownership.Owner,
	task daemon.Task,
) ended {
	result := executor.Act(ctx, owner, task)
	return ended{
		Create: task.Create, Delete: task.Delete, Refresh: task.Refresh, Pod: result.Pod, Err: result.Err,
		Gone:     result.Outcome == daemon.OutcomeGone,
		Released: result.Outcome == daemon.OutcomeReleased,
		Taken:    result.Outcome == daemon.OutcomeNameTaken,
		Refused:  result.Outcome == daemon.OutcomeRefused,
	}
}

// execute has all steps of a plan performed, one after the other: creations
// first, then deletions, then refreshes. The error joins theirs.
func execute(
	ctx context.Context,
	executor *daemon.Executor,
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

func (p *plan) tasks() []daemon.Task {
	var tasks []daemon.Task
	for i := range p.Create {
		tasks = append(tasks, daemon.Task{Create: &p.Create[i]})
	}
	for i := range p.Delete {
		tasks = append(tasks, daemon.Task{Delete: &p.Delete[i]})
	}
	for i := range p.Refresh {
		tasks = append(tasks, daemon.Task{Refresh: &p.Refresh[i]})
	}
	for i := range tasks {
		tasks[i].Owner, tasks[i].Spec = types.UID(p.Owner), p.Spec
	}
	return tasks
}

// statusOf returns the status of a planner that has few nodes.
func statusOf(planner *daemon.Planner) daemon.Status {
	status, whole := planner.Status()
	if !whole {
		panic("more nodes than a turn visits")
	}
	return status
}
