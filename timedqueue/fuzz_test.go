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

// Fuzz it: go test -run '^$' -fuzz FuzzQueue -fuzztime 1m ./timedqueue
func FuzzQueue(f *testing.F) {
	// Seeds for the fuzzer. The first byte is the kind of the walk, the next ones
	// its budgets, then come key and operation with its arguments.
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 1, 5, 3, 2, 0, 15, 2, 0, 0, 20, 1, 0, 0, 0, 0})
	f.Add([]byte{1, 5, 1, 9, 3, 1, 9, 4, 2, 1, 0, 0, 0, 0, 1, 9, 20, 2, 15, 2, 2, 20, 1, 1, 1, 1, 1})
	f.Add([]byte{2, 1, 0, 9, 1, 1, 9, 1, 1, 9, 1, 1, 9, 1, 1, 1, 0, 0, 0, 0, 1, 2, 15, 2, 1, 7, 1, 1,
		1, 1, 13, 1, 1, 1, 1})
	f.Add([]byte{3, 1, 2, 9, 1, 1, 9, 1, 1, 9, 1, 1, 9, 1, 1, 1, 0, 0, 0, 0, 1, 2, 15, 2, 1, 25, 1,
		1, 1, 1, 13, 1, 1, 1, 1})
	for _, kind := range []byte{0, 1, 2, 3} {
		longer := "a longer walk, through whatever its letters mean: " +
			"0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		f.Add(append([]byte{kind}, longer...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		w, err := newWalk(&byteChooser{data[1:]}, walkKind(data[0]%4))
		if err == nil {
			err = w.run()
		}
		if err != nil {
			for _, line := range w.log {
				t.Log(line)
			}
			t.Fatal(err)
		}
	})
}
