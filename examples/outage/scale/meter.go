package scale

import (
	"runtime"
	"time"
)

// meter measures what a run takes of time and memory. It stands still while the
// live heap is measured.
type meter struct {
	wall, cpu           time.Duration
	began               time.Time
	cpuAt               time.Duration
	cpuKnown            bool
	allocations, volume uint64 // when it was made
	live                uint64 // the most that was measured
}

func newMeter() *meter {
	m := &meter{}
	runtime.GC() // what another run has left is not this one's work
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.allocations, m.volume = memory.Mallocs, memory.TotalAlloc
	m.goOn()
	return m
}

func (m *meter) goOn() {
	m.began = time.Now()
	m.cpuAt, m.cpuKnown = cpuTime()
}

func (m *meter) stop() {
	m.wall += time.Since(m.began)
	now, _ := cpuTime()
	m.cpu += now - m.cpuAt
}

// measureHeap takes what is live now.
func (m *meter) measureHeap() {
	m.stop()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.live = max(m.live, memory.HeapAlloc)
	m.goOn()
}

// row returns what was measured, when the run is over.
func (m *meter) row() Row {
	m.stop()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	row := Row{
		Wall: m.wall.Seconds(), LiveHeap: m.live,
		Allocations: memory.Mallocs - m.allocations, Allocated: memory.TotalAlloc - m.volume,
	}
	if m.cpuKnown {
		row.CPU = new(m.cpu.Seconds())
	}
	return row
}
