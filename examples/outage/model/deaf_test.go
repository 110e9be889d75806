package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// A pause counts if it is longer than the bound, and of one with a suspension
// in it what the process can measure of it does.
func TestDeaf(t *testing.T) {
	const bound = 5 * time.Second
	for name, test := range map[string]struct {
		pause, suspend, resume time.Duration
		deaf                   time.Duration
	}{
		"a short pause":                    {10 * time.Second, 14 * time.Second, 14 * time.Second, 0},
		"a long pause":                     {10 * time.Second, 20 * time.Second, 20 * time.Second, 10 * time.Second},
		"a suspension":                     {10 * time.Second, 10 * time.Second, 20 * time.Second, 10 * time.Second},
		"a suspension after a short pause": {10 * time.Second, 14 * time.Second, 24 * time.Second, 10 * time.Second},
		"a suspension after a long pause":  {10 * time.Second, 20 * time.Second, 30 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := model.New(model.Config{Seed: 1, Start: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
			c := w.NewClient("controller", 1, func() {})
			w.At(test.pause, c.Pause)
			w.At(test.suspend, func() {
				if test.suspend < test.resume {
					c.Suspend()
				}
			})
			w.At(test.resume, func() {
				if test.suspend < test.resume {
					require.Equal(t, test.resume-test.suspend, c.Unsuspend())
				}
				c.Resume()
			})
			for w.Step(time.Minute) {
			}
			require.Equal(t, test.deaf, c.Deaf(0, time.Minute, bound))
			require.Equal(t, min(test.deaf, time.Second), c.Deaf(test.resume-time.Second, time.Minute, bound))
		})
	}
}
