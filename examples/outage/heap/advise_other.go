//go:build !linux || !(amd64 || arm64)

package heap

// advise does nothing on this system.
func advise(uint64) {}
