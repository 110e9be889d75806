package heap

// ForScenario prepares for runs of scenarios, until end is called. It is for a
// whole program: its main calls it once, at the beginning.
func ForScenario() (end func()) {
	end = collectLater(garbageReserve) // first, or it would take what is to be of huge pages
	useHugePages(room)
	return end
}

// ForScale is ForScenario for package scale. Its clusters are larger, and what
// collections cost of them is to be seen.
func ForScale() { useHugePages(4 * room) }

const (
	// An hour of 5,000 nodes with 150,000 pods spends up to a quarter of its CPU
	// time on collections by Go's default. Twice this reserve makes it no faster:
	// memory that is new costs time, too.
	garbageReserve = 256 << 20
	// The heap of such an hour fits.
	room = 1 << 30
)

// untouched takes so much memory from the heap, which the operating system does
// not provide before something is written. It is in pieces, because the runtime
// clears all of one when its first bytes were in use before.
func untouched(size uint64) [][]byte {
	const piece = 16 << 20
	pieces := make([][]byte, size/piece)
	for i := range pieces {
		pieces[i] = make([]byte, piece)
	}
	return pieces
}
