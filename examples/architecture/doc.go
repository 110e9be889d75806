// Package architecture holds no code, only tests: they read the syntax trees of
// the packages at the repository's root and fail when one leaves the design.
//
// The design has two layers. A core decides: time comes in as an argument, and
// it starts no goroutine, makes no call, logs nothing and draws no random number
// that it was not given. An edge acts. Every file is core unless the table
// edgeFiles names it, with the reason; an entry whose file is gone, or whose file
// no longer does anything that a core may not do, is a failure too. Some edges are
// timeless besides: they call out, but neither wait nor read a clock.
//
// Conventions that a machine can hold are checked as well: names of constants,
// parameters of constructors and of a core's methods, a refused zero now,
// Validate that joins all problems. In plainPackages lines have a width, and
// comments avoid personalWords. In strictPackages sentences have a length,
// messages and names avoid those words too, and a word of severalMeanings has
// one meaning.
//
// Checked besides: which package may import which, what reaches importers
// through them, that there is no global state, that each package is documented
// and shows an example whose output is checked, and what lies at the top level.
//
// Inside a package the files stand in layers, which the package comment draws. A
// type checker finds each use of a function, type, method or field between two
// files. A use that runs upward in the drawing is a failure.
//
// The engine is one: outside timedqueue no heap orders what waits, no pause grows
// by itself, and no due time is compared with the present. Names and types tell a
// due time, so one under another name is missed.
//
// All other rules read syntax without types: a rule about time.Now looks for the
// name that the file gave to package time, so an import under another name hides
// nothing. A clock that is reached through a method of a third package would be
// missed. The imports through which that could happen are not allowed in a core.
//
// The checks are functions over parsed files. Each is also run over small sources
// that break its rule, so that a check which stopped looking would be noticed.
//
// The tests live here, in the examples' module, because the root's top level is
// for what people import.
package architecture
