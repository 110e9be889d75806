package timedqueue

import "sync"

// workers are goroutines that each perform one task after the other. With a
// goroutine for each task, many that have reported their result but not ended
// would exist at once on a busy machine.
type workers[T any] struct {
	limit   int
	perform func(T)
	tasks   chan T
	running int // only give uses it
	ended   sync.WaitGroup
}

func newWorkers[T any](limit int, perform func(T)) *workers[T] {
	return &workers[T]{limit: limit, perform: perform, tasks: make(chan T)}
}

// give hands a task to an idle worker, or to a new one. The caller ensures that
// fewer tasks than limit are under way.
func (w *workers[T]) give(task T) {
	select {
	case w.tasks <- task:
		return
	default:
	}
	if w.running < w.limit {
		w.running++
		w.ended.Go(w.run)
	}
	w.tasks <- task // a worker that has reported is about to receive
}

// run performs tasks until there are no more. A task that calls runtime.Goexit
// ends this goroutine, and another takes its place.
func (w *workers[T]) run() {
	done := false
	defer func() {
		if !done {
			w.ended.Go(w.run)
		}
	}()
	for task := range w.tasks {
		w.perform(task)
	}
	done = true
}

// end waits until all tasks are done and all goroutines have ended.
func (w *workers[T]) end() {
	close(w.tasks)
	w.ended.Wait()
}
