// Package architecture has only tests. They read this repository and fail where
// it leaves the design:
//
//   - A package imports and links only what the table rooms allows.
//   - A core decides. It has no clock, goroutine, client or log. An edge acts,
//     and edgeFiles lists each with the reason. Some edges are timeless: they
//     call out, but neither wait nor read a clock.
//   - The engine is one. Outside timedqueue nothing orders what waits in a heap,
//     grows a pause by itself or compares a due time with the present.
//   - Constructors, Validate and enums follow one convention.
//   - Nothing is global, and folders hold what they are for.
//   - The documents show, link and name only what exists.
//
// Sources are parsed once and not type-checked. A rule about time.Now finds
// package time under any name of the import. A rule about due times reads the
// names of variables, so it misses one with an unusual name. Each rule is a
// function from sources to findings. A file of testdata breaks it in all ways
// that it detects, and says so in comments that begin with "want".
//
// The tests are in the examples' module because the root's top level is for
// what people import.
package architecture
