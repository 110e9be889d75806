package kubelet

import (
	"fmt"
	"hash/fnv"
)

// identity returns an ID in the form of a UUID that follows from its parts.
func identity(parts ...string) string {
	a, b := hashOf(append(parts, "a")...), hashOf(append(parts, "b")...)
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", uint32(a>>32), uint16(a>>16), uint16(a), uint16(b>>48), b&(1<<48-1))
}

func hashOf(parts ...string) uint64 {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = h.Write(append([]byte(part), 0)) // it returns no error
	}
	return h.Sum64()
}
