package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// day is a unit that Go's durations lack.
const day = 24 * time.Hour

const (
	// maxDuration bounds what passes in the cluster, so that sums of several such
	// times do not overflow.
	maxDuration = Duration(30 * day)
	// maxClockStep bounds how far a clock is off. A machine whose battery is empty
	// believes in 1970.
	maxClockStep = Duration(100 * 365 * day)
	// minInterval bounds what is repeated: a shorter one is a slip of the pen, and
	// the simulation would not come to an end.
	minInterval = Duration(100 * time.Millisecond)
)

// D returns the duration as package time has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String returns the duration as in Go but without units that are zero at its
// end: 1h30m, not 1h30m0s. Zero is 0s.
func (d Duration) String() string {
	text := d.D().String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalJSON returns the duration as a JSON string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads a JSON string. A number is an error, except 0: it has no
// unit.
func (d *Duration) UnmarshalJSON(data []byte) error {
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	parsed, err := parseDuration(text)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

func parseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return Duration(d), nil
	}
	if _, err := time.ParseDuration(text + "s"); err == nil && strings.Trim(text, "+-.0123456789") == "" {
		return 0, fmt.Errorf("%s has no unit; write %ss if it is in seconds", text, text)
	}
	return 0, fmt.Errorf("%q is no duration; write it like 90s, 5m or 1h30m", text)
}
