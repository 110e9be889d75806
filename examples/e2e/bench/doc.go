// Package bench measures the library next to k8s.io/kubernetes. Both do the
// same work on the same inputs, ours and what upstream exports, one after the
// other in one run. It holds tests and benchmarks only.
//
// One command, from the root of the repository, prints the table. It takes a
// few minutes, most of which go into setting up what is measured:
//
//	go -C examples/e2e test ./bench -run '^$' -bench . -benchmem \
//	  -timeout 1h | go -C examples/e2e run ./bench/table
//
// Add -benchtime=0.3s for a quicker look, -count=5 for medians, -bench Queue
// for one group. Without -bench, the test runs all of it once at a small size.
//
// Command table compares some of the ratios with those recorded in ratios.json
// when it is called with --check, as .ci/run does.
//
// # How fair it is
//
// Each side is called the way its controller calls it. Our cores are not safe
// for concurrent use, so their operations are done with a timedqueue.Dispatcher
// locked, as in a program; upstream's types lock themselves. Both sides read
// the clock where a controller would. Objects, keys and names are made before
// the clock runs, and whatever an informer does is on neither side.
//
// Where upstream exports only a part of the work, upstream is charged for that
// part and we for the whole. Or our whole has its own row. The comment on each
// benchmark names the functions.
//
// Allocations and bytes hardly depend on the machine's load, wall-clock times
// do, by a factor of ten on a busy one. So the table compares the CPU time of
// the process, all its threads and the garbage collector included. That still
// depends on what else uses the caches. So a row's two sides are taken one
// after the other, and the load average before and after the run is printed
// above the table. -benchtime is the least CPU time of each side, too.
package bench
