// Package heap prepares the memory of this program. It keeps a whole cluster:
// hundreds of megabytes of nodes and pods that hardly change, and little
// garbage. Go and the operating system assume otherwise.
//
// It is for main, and for benchmarks that measure what a user waits for. A run
// comes out the same without it.
package heap
