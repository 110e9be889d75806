// Package invariant checks what a controller of daemon sets has done to a
// cluster. It has no code in common with the library: placements, limits,
// revisions and counts are restated here, as simply as possible.
//
//	violations := invariant.Check(history, history.End)
//
// A [History] is what the API server can tell. It has what was stored and which
// call has caused it. It also has how far each watch was when that call was
// decided. Nothing of the controller's own state is in it.
//
// # What counts as known
//
// A promise about a write is checked against the truth, except for what no
// controller could know at its decision. It could not know what its watches had
// not shown. It could know all its own writes from the moment of their
// decision, done or under way, and the objects of answers. So a late watch
// excuses a write, and a controller that forgets what it has done is caught.
// Another process knows nothing of the writes of its predecessor.
//
// # Promises
//
// [Invariant] lists them. Those about the end allow nothing. When the cluster
// was left alone for long, pods, owners, revisions and statuses are as the sets
// say, and no more requests are sent.
//
// Of a backoff the shortest waits are checked. The pods that fail together
// count as one. The budget of requests holds over each stretch of time, with
// twice the burst: a task gives back late what it has not used.
package invariant
