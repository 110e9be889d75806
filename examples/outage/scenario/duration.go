package scenario

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a time.Duration, written as in Go: 1h30m.
type Duration time.Duration

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

// MarshalText returns what String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration with its unit; only 0 needs none.
func (d *Duration) UnmarshalText(data []byte) error {
	text := string(data)
	parsed, err := time.ParseDuration(text)
	if err == nil {
		*d = Duration(parsed)
		return nil
	}
	if _, err := time.ParseDuration(text + "s"); err == nil && strings.Trim(text, "+-.0123456789") == "" {
		return fmt.Errorf("%s has no unit; write %ss if it is in seconds", text, text)
	}
	return fmt.Errorf("%q is no duration; write it like 90s, 5m or 1h30m", text)
}
