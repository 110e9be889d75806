package timedqueue

import "testing"

// byteChooser takes choices from what a fuzzer made up.
type byteChooser struct{ data []byte }

func (c *byteChooser) IntN(n int) int {
	chosen := 0
	for range (n + 254) / 255 { // small choices take one byte
		if len(c.data) == 0 {
			break
		}
		chosen = chosen<<8 | int(c.data[0])
		c.data = c.data[1:]
	}
	return chosen % n
}

func (c *byteChooser) Ended() bool { return len(c.data) == 0 }

// Fuzz it: go test -run '^$' -fuzz FuzzQueueAndGroup -fuzztime 1m ./timedqueue
func FuzzQueueAndGroup(f *testing.F) {
	// Walks that reach something; the fuzzer goes on from there. The first three
	// bytes are what to test, the limit and the burst, then come key, queue, value
	// and operation with what it needs.
	f.Add([]byte{0, 5, 1, 1, 0, 0, 0, 0, 9, 1, 1, 0, 0, 0, 10, 1, 1, 0, 0, 0, 14, 2, 1, 0, 1})
	f.Add([]byte{1, 8, 0, 1, 2, 0, 0, 0, 9, 0, 1, 1, 0, 0, 0, 10, 1, 1, 3, 0, 0, 7, 1, 0, 0, 0, 0, 14, 2, 1, 0})
	f.Add([]byte("a longer walk, through whatever its letters happen to mean: 0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		grouped, onlyUnlimited := data[0]&1 == 1, data[0]&2 == 2
		w, err := newWalk(&byteChooser{data[1:]}, grouped, onlyUnlimited)
		if err == nil {
			err = w.run(onlyUnlimited)
		}
		if err != nil {
			for _, line := range w.log {
				t.Log(line)
			}
			t.Fatal(err)
		}
	})
}
