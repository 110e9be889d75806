// Package architecture has only tests. They read the sources of all three
// modules and fail where one leaves the design:
//
//   - A package imports and links only what the table rooms allows.
//   - A core decides. It has no clock, goroutine, client or log. An edge acts,
//     and edgeFiles lists each with the reason. Some edges are timeless: they
//     call out, but neither wait nor read a clock.
//   - The engine is one. Outside timedqueue nothing orders what waits in a heap,
//     grows a pause by itself or compares a due time with the present.
//   - Constructors, Validate, methods of cores and enums follow one convention.
//   - Nothing is global, and folders hold what they are for.
//   - The documents show, link and name only what exists.
//
// Sources are parsed once and not type-checked. A rule about time.Now finds
// package time under any name of the import. A rule about due times reads the
// names of variables, so it misses a due time with an unusual name. A clock
// behind a method of a third package would be missed too. A core may not import
// the packages with which that could happen.
//
// Each rule is a function from sources to findings. A file of testdata breaks
// it in all ways that it detects, and says so in comments that begin with
// "want".
//
// The tests are in the examples' module because the root's top level is for
// what people import.
package architecture
