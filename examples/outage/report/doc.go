// Package report turns a simulated outage into what an operator reads: a
// timeline of what happened and a summary of each zone.
//
//	s, err := simulation.New(description)
//	recorder := report.Watch(s, func(line report.Line) {
//		fmt.Println(line.Format(12))
//	})
//	s.Run()
//	document := recorder.Document()
//	document.Summary.Write(os.Stdout)
//
// A [Recorder] is told everything by the world and decides nothing there: a run
// goes the same way with and without it. What it says depends on the scenario
// and its seed alone, to the byte.
//
// # The timeline
//
// What happens to one node after the other in a zone is one [Line]. It says
// from when to when, how often and to which nodes. Such a line is told when
// nothing was added to it for some seconds, or after ten minutes. Lines that
// began later wait for it, so that all come in the order of their beginnings.
//
// # The summary
//
// Each [Zone] says what was done to its nodes and pods, how long that took, and
// how close it came to the zone's rate. A zone's outage lasts from when the
// first of its nodes is in trouble until none is. In trouble is a node that is
// silent, not ready, or has a NoExecute taint. Whether the controller did what
// it has to is no question for this package; see package judge of
// nodelifecycle.
//
// # Series
//
// [Series] are for plots. They have nodes by state, and pods that wait, are
// blocked or were evicted. They have taints against what the rates allow, and
// calls against their limit. However long a run is, they have at most
// [MostPoints] points.
//
// # JSON
//
// [Document] and [Comparison] are what the program prints with --json. Their
// shape is that of their types: fields are added, not changed. Times are
// numbers, in seconds since the start of the scenario; see [Seconds].
package report
