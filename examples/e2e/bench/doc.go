// Package bench measures the library beside k8s.io/kubernetes: the same work on
// the same inputs, through our packages and through what upstream exports, one
// after the other in one run. It holds tests and benchmarks only.
//
// One command, from the root of the repository, prints the table; it takes some
// four minutes:
//
//	go -C examples/e2e test ./bench -run '^$' -bench . -benchmem | go -C examples/e2e run ./bench/table
//
// Add -benchtime=0.3s for a quick look, -count=5 for medians on a machine that is
// not quiet, and -bench Queue for one group.
//
// # How fair it is
//
// Each side is called the way its controller calls it. Our cores are not safe for
// concurrent use, so their operations are done with a timedqueue.Dispatcher
// locked, as in a program; upstream's types lock themselves. Both sides read the
// clock where a controller would. Objects, keys and names are made before the
// clock runs, and whatever an informer does is on neither side.
//
// Where upstream exports only a part of the work, upstream is charged for that
// part and we for the whole; the comment on each benchmark names the functions.
//
// Allocations and bytes hardly depend on the machine's load. Times do; two that
// stand side by side were taken within seconds, and the command prints the load
// average before and after.
package bench
