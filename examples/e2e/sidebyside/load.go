package sidebyside

import (
	"os"
	"strings"
)

// LoadAverage returns that of the last minute. Where the kernel does not tell
// it in a file, that is unknown. It belongs next to each figure that was
// measured.
func LoadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(content), " ")
	return last
}
