package network

import "strconv"

// Lock is the lease for which the processes of a controller compete.
type Lock struct {
	// Holder is the process that leads; empty if the lease was given up.
	Holder string
	// Version changes with each update, which has to name the one that it
	// replaces.
	Version uint64
	// Halted says that it carries the annotation that halts its leader.
	Halted bool
}

// GetResourceVersion makes a lock an object that can be watched.
func (l Lock) GetResourceVersion() string { return strconv.FormatUint(l.Version, 10) }

// GetName is nothing: there is one lock.
func (Lock) GetName() string { return "" }
