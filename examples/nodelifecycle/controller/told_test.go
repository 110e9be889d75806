package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// A doubt is told when it has lasted for a grace period, and so is its end. What
// a replica drops it tells when it leads.
func TestADoubtIsToldOnce(t *testing.T) {
	p := newParts(t, Config{})
	blind := doubtFacts{sight: nodehealth.Sight{Blind: true, LostAt: p.now}, phase: zone.PhaseActive}
	tells := func(at time.Duration, facts doubtFacts) (reasons []string) {
		p.told.noteDoubts(p.now.Add(at), facts)
		for record, ok := p.told.startEvent(); ok; record, ok = p.told.startEvent() {
			reasons = append(reasons, record.Reason)
		}
		return reasons
	}
	require.Empty(t, tells(0, blind))
	next, ok := p.told.nextDoubt()
	require.True(t, ok)
	require.Equal(t, p.now.Add(grace), next)
	require.Equal(t, []string{ReasonDoubt}, tells(grace, blind))
	require.Empty(t, tells(2*grace, blind))
	p.told.drop()
	require.Equal(t, []string{ReasonDoubt}, tells(3*grace, blind))
	require.Equal(t, []string{ReasonDoubtEnded}, tells(4*grace, doubtFacts{phase: zone.PhaseActive}))
	require.Equal(t, 4*grace, p.Doubted(p.now, DoubtBlind))
}
