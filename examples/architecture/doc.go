// Package architecture has only tests. They read the syntax trees of this
// repository's packages and fail when one leaves the design.
//
// The design has two layers. A core decides: time comes in as an argument, and
// so does randomness. It starts no goroutine, makes no call and logs nothing.
// An edge acts. Every file is core unless the table edgeFiles names it, with
// the reason. An entry whose file is gone, or only does what a core may do, is
// a failure too. Some edges are timeless besides: they call out, but neither
// wait nor read a clock.
//
// Conventions that a machine can hold are checked as well. They are names of
// constants, parameters of constructors and of a core's methods, a refused zero
// now, and Validate that joins all problems. Everywhere, examples included,
// lines have a width, comments avoid personalWords, and sentences have a
// length. The folders of longSentences keep it in doc comments only. In
// strictPackages messages and names avoid those words too, and a word of
// severalMeanings has one meaning.
//
// Checked besides are which package may import which, what reaches importers
// through them, and what lies at the top level. There is no global state. Each
// package is documented and shows an example whose output is checked.
//
// Inside a package the files stand in layers, which the package comment draws.
// A type checker finds each use of a function, type, method or field between
// two files. A use that runs upward in the drawing is a failure.
//
// The engine is one: outside timedqueue no heap orders what waits, no pause
// grows by itself, and no due time is compared with the present. Names and
// types tell a due time, so one under another name is missed.
//
// All other rules read syntax without types. A rule about time.Now looks for
// the name that the file gave to package time, so an import under another name
// hides nothing. A clock that is reached through a method of a third package
// would be missed. The imports through which that could happen are not allowed
// in a core.
//
// The checks are functions over parsed files. Each is also run over small
// sources that break its rule, so that a check which stopped looking would be
// noticed.
//
// The tests live here, in the examples' module, because the root's top level is
// for what people import.
package architecture
