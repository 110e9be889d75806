package simulation

import (
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// faults returns what each action does that is about the controller, or about
// what lies between it and the API server.
func (s *simulation) faults() map[Action]func(Step) {
	return map[Action]func(Step){
		ActionErrors: s.strike(func(share float64) func() {
			return s.RefuseCalls(share, []int{0, 404, 429, 500, 503, 504}, func(call *network.Call) bool {
				return call.Verb != network.List
			})
		}),
		ActionLoseAnswers: s.strike(s.ResetAnswers),
		ActionConflicts: s.strike(func(share float64) func() {
			return s.FailCalls(share, []int{409}, network.Patch, network.Delete)
		}),
		ActionSlowCalls: s.strike(func(share float64) func() {
			return s.DetainCalls(share, network.Span{Min: time.Second, Max: 40 * time.Second})
		}),
		ActionQuota: s.strike(func(share float64) func() {
			return s.RefuseCalls(share, []int{403}, func(call *network.Call) bool {
				return call.Verb == network.Create && call.Kind == network.Pods
			})
		}),
		ActionNotNow:  s.strike(func(share float64) func() { return network.During(&s.notNow, &share) }),
		ActionInPlace: s.strike(func(share float64) func() { return network.During(&s.inPlace, &share) }),
		ActionLate: func(step Step) {
			most := time.Duration(step.N) * time.Second
			s.After(step.For, s.DelayWatches(network.Span{Min: most / 4, Max: most}, network.OfKind(step.Kind)))
		},
		ActionGap:  s.interrupt,
		ActionKill: s.kill,
		ActionHalt: s.halt,
	}
}

// strike has a fault strike a quarter, a half or all of what it may strike.
func (s *simulation) strike(begin func(share float64) (end func())) func(Step) {
	return func(step Step) { s.After(step.For, begin([]float64{0.25, 0.5, 1}[step.N%3])) }
}

// strikes reports whether one of the faults with such shares strikes.
func (s *simulation) strikes(shares []*float64) bool {
	return slices.ContainsFunc(shares, func(share *float64) bool { return s.random.Float64() < *share })
}

// interrupt has the watch of a kind miss everything for a time. What it lists
// then is a little old.
func (s *simulation) interrupt(step Step) {
	mend := s.BreakWatches(network.OfKind(step.Kind))
	age := network.Span{Max: min(step.For, 5*time.Second)}.Pick(s.random)
	s.After(step.For, func() {
		s.listPast(step.Kind, age)
		mend()
	})
}

// listPast has watches of a kind list now what there was some time ago.
func (s *simulation) listPast(kind network.Kind, age time.Duration) {
	past := s.past.At(s.Elapsed() - age)
	end := s.ListPast(past, network.OfKind(kind))
	s.After(time.Second, func() {
		end()
		past.Forget()
	})
}

// kill ends the process. The next one begins with caches of different ages.
func (s *simulation) kill(step Step) {
	if s.process.Stopped() {
		return
	}
	s.process.End("crash")
	s.After(step.For, func() {
		oldest := network.Span{Max: time.Duration(step.N) * time.Second}
		for _, kind := range invariant.Kinds {
			s.listPast(kind, oldest.Pick(s.random))
		}
		// It cannot fail, because the first start did not, with the same settings.
		if err := s.start(); err != nil {
			panic(err)
		}
		if s.Elapsed() < s.halted {
			s.hold()
		}
	})
}

func (s *simulation) halt(step Step) {
	s.halted = max(s.halted, s.Elapsed()+step.For)
	if !s.process.Stopped() {
		s.hold()
	}
	s.After(step.For, func() {
		if s.Elapsed() >= s.halted && !s.process.Stopped() {
			s.process.Update(s.process.Core.Resume)
			s.recorder.Resume()
		}
	})
}

// hold has the core delete no pod.
func (s *simulation) hold() {
	s.process.Update(s.process.Core.Halt)
	s.recorder.Halt()
}
