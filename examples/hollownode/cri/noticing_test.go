package cri

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// polled returns what Poll returns now: the kinds of notices, and a word for
// each other event.
func polled(f *Fake, now time.Time) []string {
	var all []string
	for event, ok := f.Poll(now); ok; event, ok = f.Poll(now) {
		switch {
		case event.Notice != nil:
			all = append(all, string(event.Notice.Kind))
		case event.Ended != nil:
			all = append(all, "ended")
		default:
			all = append(all, "changed")
		}
	}
	return all
}

func TestNoticesComeWhenTheyAreAskedFor(t *testing.T) {
	pod := newPod(map[string]string{domain + "pull-time": "2s", domain + "start-failures": "1"}, "a")
	for _, asked := range []bool{true, false} {
		f := newFake(t)
		f.Begin(start, Plan{Pod: pod, Steps: startSteps("a"), Notices: asked})
		first, then := polled(f, start), polled(f, start.Add(2*time.Second))
		if asked {
			assert.Equal(t, []string{"changed", "Pulling"}, first)
			assert.Equal(t, []string{"Pulled", "changed", "Created", "Failed", "ended"}, then)
		} else {
			assert.Equal(t, []string{"changed"}, first)
			assert.Equal(t, []string{"changed", "ended"}, then)
		}
	}
}

// A change that waits to be polled stands for those after it.
func TestANoticeIsNotTakenForAChange(t *testing.T) {
	f := newFake(t)
	pod := newPod(map[string]string{domain + "run-time": "1s"}, "a")
	f.Begin(start, Plan{Pod: pod, Steps: startSteps("a")})
	polled(f, start.Add(time.Minute))
	now := start.Add(2 * time.Minute)
	f.Begin(now, Plan{Pod: pod, Notices: true, Steps: []Step{{Kind: StepStart, Container: "a", Attempt: 1}}})
	event, _ := f.Poll(now)
	require.NotNil(t, event.Notice)
	require.Equal(t, NoticePresent, event.Notice.Kind)
	assert.Equal(t, []string{"changed", "Created", "Started", "ended"}, polled(f, now.Add(time.Minute)))
}
