package timedqueue

import "sync"

// workers is goroutines that each perform one task after the other. A goroutine
// for each task would be simpler. But one that has reported its result takes a
// moment to end, and on a busy machine many are in that moment at once.
type workers[T any] struct {
	most    int
	perform func(T)
	tasks   chan T
	running int // only give uses it
	ended   sync.WaitGroup
}

func newWorkers[T any](most int, perform func(T)) *workers[T] {
	return &workers[T]{most: most, perform: perform, tasks: make(chan T)}
}

// give hands a task to an idle worker, or to a new one. The caller makes sure
// that fewer than most tasks are under way.
func (w *workers[T]) give(task T) {
	select {
	case w.tasks <- task:
		return
	default:
	}
	if w.running < w.most {
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

// end waits until all tasks that were given are done and all goroutines have
// ended.
func (w *workers[T]) end() {
	close(w.tasks)
	w.ended.Wait()
}
