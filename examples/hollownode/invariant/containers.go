package invariant

// ended checks that the containers of a pod have ended before its kubelet says
// so, and that none starts after it.
func (c *checker) ended(l *life) {
	for _, change := range l.changes {
		before, after := change.pods()
		if change.By == nil || before == nil {
			continue
		}
		what := "removed"
		switch {
		case after == nil:
		case !final(before.Status.Phase) && final(after.Status.Phase):
			what = "shown as " + string(after.Status.Phase)
		default:
			continue
		}
		for _, run := range l.runs {
			if run.runsAt(change.At) {
				c.violate(EndedFirst, change.At, "%s is %s while %s runs", l, what, run.ID)
			}
			if run.Started.After(change.At) && !run.Restored {
				c.violate(StaysEnded, run.Started, "%s starts, and %s was %s at %s", run.ID, l, what, clock(change.At))
			}
		}
	}
}

// runs checks the runs of one container.
func (c *checker) runs(l *life, runs []*Run) {
	for i, run := range runs {
		for _, next := range runs[i+1:] {
			if next.Runtime == run.Runtime && run.runsAt(next.Started) && !next.Started.IsZero() {
				c.violate(OneRun, next.Started, "%s of %s starts while %s runs", next.ID, l, run.ID)
			}
		}
	}
}
