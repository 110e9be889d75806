package demonstration

import (
	"fmt"

	"github.com/spf13/pflag"
)

// SetDefaults gives the flags that were not given the values that suit a
// demonstration.
func SetDefaults(flags *pflag.FlagSet, values map[string]string) error {
	for name, value := range values {
		if flags.Changed(name) {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("set up the demonstration: %w", err)
		}
	}
	return nil
}
