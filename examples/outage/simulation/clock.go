package simulation

import (
	"time"
	"unsafe"
)

// A process's clock has two hands. One shows the time of day and can be set;
// the other runs on evenly. time.Now reads both, and which of them counts
// depends on the operation. Sub and Before prefer the even one, what is written
// to an object is the time of day. A controller whose clock is set wrong is
// only simulated truly if its times have both.
//
// Package time cannot make such a time, so this does, by the layout that
// time.Time has had since Go 1.9. TestReadingHasTwoHands fails if that changes.

// layout is that of time.Time.
type layout struct {
	wall     uint64 // 1 bit flag, 33 bits seconds since 1885, 30 bits nanoseconds
	ext      int64  // nanoseconds of the even hand
	location *time.Location
}

const (
	hasMonotonic   = 1 << 63
	nanosecondBits = 30
)

// reading returns what time.Now would at a time of day, so long after the start
// of time.
func reading(wall time.Time, elapsed time.Duration) time.Time {
	since1885 := uint64(wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	read := layout{
		wall:     hasMonotonic | since1885<<nanosecondBits | uint64(wall.Nanosecond()),
		ext:      int64(elapsed) + 1, // as package time, which counts from 1
		location: time.UTC,
	}
	return *(*time.Time)(unsafe.Pointer(&read))
}
