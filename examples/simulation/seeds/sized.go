package seeds

import "os"

// Sized returns few, or all at full length: see [Full].
func Sized(few, all int) int {
	if Full() {
		return all
	}
	return few
}

// Full reports whether LIFECYCLE_TESTS=all asks for the tests at full length,
// as .ci/run does. Another value panics: a test that runs less than was asked
// for does not say so.
func Full() bool {
	switch text := os.Getenv("LIFECYCLE_TESTS"); text {
	case "":
		return false
	case "all":
		return true
	default:
		panic("LIFECYCLE_TESTS is " + text + ", want all or nothing")
	}
}
