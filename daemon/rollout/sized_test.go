package rollout_test

import "os"

// sized returns few, or all if LIFECYCLE_TESTS=all asks for the tests at full
// length, as .ci/run does.
func sized(few, all int) int {
	switch text := os.Getenv("LIFECYCLE_TESTS"); text {
	case "":
		return few
	case "all":
		return all
	default:
		panic("LIFECYCLE_TESTS is " + text + ", want all or nothing")
	}
}
