package hollownode

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A difference is one between kubemark and a hollow node that is meant. Its
// neutral takes the difference out of the states of a pod, which it may change.
type difference struct {
	name    string
	neutral func([]podState) []podState
}

// differences must all show: without any of them some story differs.
var differences = []difference{
	{
		// Main containers are ready in every state. Of no container it is known that
		// it has started, and no init container is ready. Source:
		// pkg/kubelet/prober/testing, v1.37.1.
		name: "kubemark has no probes",
		neutral: inEach(func(s *podState) {
			for i := range s.containers {
				s.containers[i].ready, s.containers[i].started = false, false
			}
			if s.inits > 0 {
				delete(s.conditions, corev1.PodInitialized)
			}
			if s.inits > 0 || strings.HasPrefix(s.phase, string(corev1.PodPending)) {
				delete(s.conditions, corev1.PodReady)
				delete(s.conditions, corev1.ContainersReady)
			}
		}),
	},
	{
		// Its runtime gives none. With containerd it is Completed or Error.
		name: "kubemark's containers exit without a reason",
		neutral: inEach(func(s *podState) {
			for i := range s.containers {
				s.containers[i].state = strings.TrimSuffix(s.containers[i].state, "/Completed")
			}
		}),
	},
	{
		// It terminates each ended pod once more. Containers that never were wait
		// while it does, which is written if a write is its turn then. After it they
		// have ended, for a reason of its own.
		name: "kubemark restarts and writes the status of rejected pods again",
		neutral: func(states []podState) []podState {
			return slices.DeleteFunc(states, func(s podState) bool {
				return isFinal(s.phase) && slices.ContainsFunc(s.containers, func(c containerState) bool {
					return c.state == "waiting/ContainerCreating" || c.state == "exited=137/ContainerStatusUnknown"
				})
			})
		},
	},
	{
		// It lasts as long as a sandbox takes, or the end of a pod after its last
		// exit. Both kubelets write what holds when a write is its turn. What may be
		// seen then is compared apart, in wantKnownFleeting. When the API server
		// removes a pod at once it shows the last state again, which may be one.
		name: "a fleeting state is written or not",
		neutral: func(states []podState) []podState {
			return withoutRemovals(slices.DeleteFunc(states, podState.fleeting))
		},
	},
}

// withoutRemovals leaves out the states that are those before them, deleted
// with a grace period of zero.
func withoutRemovals(states []podState) []podState {
	var kept []podState
	for i, s := range states {
		if i > 0 && s.deleted == "0" {
			s := s.copy()
			if s.deleted = ""; s.String() == states[i-1].String() {
				continue
			}
		}
		kept = append(kept, s)
	}
	return kept
}

// inEach returns a function that changes each state.
func inEach(change func(*podState)) func([]podState) []podState {
	return func(states []podState) []podState {
		for i := range states {
			change(&states[i])
		}
		return states
	}
}

// neutral returns what two sequences are compared by. One difference can be
// left in; a negative number leaves none.
func neutral(states []podState, without int) []string {
	own := make([]podState, len(states))
	for i, s := range states {
		own[i] = s.copy()
	}
	for i, d := range differences {
		if i != without {
			own = d.neutral(own)
		}
	}
	var lines []string
	for _, s := range own {
		if line := s.String(); len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
	return lines
}

// fleetingOf returns the fleeting states of a sequence without the other
// differences.
func fleetingOf(states []podState) []string {
	return neutral(slices.DeleteFunc(slices.Clone(states), func(s podState) bool { return !s.fleeting() }),
		len(differences)-1)
}

// isFinal reports whether the phase of a state is final.
func isFinal(phase string) bool {
	return strings.HasPrefix(phase, string(corev1.PodFailed)) || strings.HasPrefix(phase, string(corev1.PodSucceeded))
}

// fleeting reports whether no container runs and the phase is not final.
func (s podState) fleeting() bool {
	if s.gone || isFinal(s.phase) {
		return false
	}
	for _, c := range s.containers {
		if c.state == "running" {
			return false
		}
	}
	return true
}

// Of the first pairs kubemark has shown both sequences, depending on what it
// had written in time. Those of the others must not be taken for the same.
func TestWhatIsWrittenOrNotIsNeutral(t *testing.T) {
	state := func(phase, container, deleted string) podState {
		return podState{
			phase: phase, deleted: deleted,
			containers: []containerState{{name: "main", state: container, ready: true}},
		}
	}
	gone := podState{gone: true}
	running := state("Running", "running", "")
	rejected := podState{phase: "Failed/NodeAffinity"}
	ended := state(rejected.phase, "exited=137/ContainerStatusUnknown", "")
	for name, both := range map[string][2][]podState{
		"a rejected pod, after a restart": {
			{rejected, ended},
			{rejected, state(rejected.phase, "waiting/ContainerCreating", ""), ended},
		},
		"the end of a mirror": {
			{running, state("Running", "running", "0"), gone},
			{running, state("Running", "exited=0", ""), state("Running", "exited=0", "0"), gone},
		},
	} {
		require.Equal(t, neutral(both[0], -1), neutral(both[1], -1), name)
	}
	for name, both := range map[string][2][]podState{
		"a rejected pod runs": {{rejected}, {rejected, state(rejected.phase, "running", "")}},
		"a pod ends at once":  {{running, state("Running", "running", "5"), gone}, {running, gone}},
		"its grace is cut short": {
			{running, state("Running", "running", "5"), gone},
			{running, state("Running", "running", "5"), state("Running", "running", "0"), gone},
		},
	} {
		require.NotEqual(t, neutral(both[0], -1), neutral(both[1], -1), name)
	}
}
