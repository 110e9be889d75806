package sidebyside

import "errors"

// FaultsUnless is the Faults of a measurement whose records are judged as a
// whole. A record that is not clean is at fault, with all that show says of it.
func FaultsUnless[R any](clean func(*R) bool, show func(*R) string) func(*R, bool) error {
	return func(record *R, _ bool) error {
		if clean(record) {
			return nil
		}
		return errors.New(plain(show(record)))
	}
}
