package report

import (
	"fmt"
	"math"
	"time"
)

// Seconds is a time since the start of the scenario, or how long something
// took: a number in JSON, to the millisecond.
type Seconds float64

// SecondsOf returns a duration to the millisecond.
func SecondsOf(d time.Duration) Seconds { return Seconds(math.Round(d.Seconds()*1000) / 1000) }

// D returns the seconds as package time has them.
func (s Seconds) D() time.Duration {
	return time.Duration(math.Round(float64(s)*1000)) * time.Millisecond
}

// Clock returns the seconds as a clock that was started with the scenario shows
// them, hours:minutes:seconds.
func (s Seconds) Clock() string {
	whole := int(s.D() / time.Second)
	return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
}

// String returns the seconds as a duration, with tenths below ten seconds,
// where they matter.
func (s Seconds) String() string {
	if d := s.D(); d <= -10*time.Second || d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return s.D().Round(100 * time.Millisecond).String()
}
