// Package virtualtime is for simulations of controllers: a time that does not
// pass by itself.
//
//	t := virtualtime.NewTimeline(start)
//	t.After(time.Minute, func() { ... })
//	rests := t.Run(time.Hour, 100_000)
//
// A [Timeline] runs what is planned in the order of its times, on the goroutine
// of its caller. Two runs with the same plans are the same.
//
// Nothing here is safe for concurrent use.
package virtualtime
