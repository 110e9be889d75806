// Package virtualtime is for simulations of controllers: a time that does not
// pass by itself, and informers that stand in it.
//
//	t := virtualtime.NewTimeline(start)
//	t.After(time.Minute, func() { ... })
//	rests := t.Run(time.Hour, 100_000)
//
// A [Timeline] runs what is planned in the order of its times, on the goroutine
// of its caller. Two runs with the same plans are the same.
//
// A [Watch] shows the changes of a [Log] to the handler of an informer, each
// after a delay that its caller chooses. It can miss changes, and list again.
// So a handler sees what client-go shows it, with every delay that is possible.
//
// Nothing here is safe for concurrent use.
package virtualtime
