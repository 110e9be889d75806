// Package scale measures what a run of outage costs, for clusters of doubling
// size.
//
// [Play] plays the same story for each size: see [Scenario]. A third of the
// nodes falls silent for ten minutes of 20, and all of it is reported as by a
// run of a file. It returns what each size took of time and memory, and an
// error if a run did not come out as the story says.
//
// # What is measured
//
// Wall and CPU time are those from the first node to the end of the report. CPU
// time is that of all threads of the process, with the garbage collector. It is
// the figure to compare on a machine that does other things.
//
// The live heap is what is left in the process after a forced collection, at
// four moments of the scenario. These are shortly before the loss and the
// return, when all that was to fill has filled, and a minute after each. The
// fullest one counts. The collections are in neither time.
package scale
