package edge

// mostShared bounds what is remembered for objects to come. A fleet has fewer
// templates of pods, and the pods that start in a second come together.
const mostShared = 256

// encoded is an object that can be encoded, as the generated types of the API.
type encoded interface {
	Size() int
	MarshalToSizedBuffer(into []byte) (int, error)
}

// shared keeps equal values once. Values are equal if their encodings are.
type shared[T any] struct {
	known map[string]*T
	text  []byte // room for one encoding
}

// of returns the known value of an encoding. If there is none, it is what keep
// returns, which is known from then on.
func (s *shared[T]) of(object encoded, keep func() T) *T {
	size := object.Size()
	if size > cap(s.text) {
		s.text = make([]byte, 2*size)
	}
	text := s.text[:size]
	n, err := object.MarshalToSizedBuffer(text)
	if err != nil {
		kept := keep() // there is no encoding of it
		return &kept
	}
	key := text[size-n:]
	if known, found := s.known[string(key)]; found {
		return known
	}
	if s.known == nil || len(s.known) >= mostShared {
		s.known = map[string]*T{}
	}
	kept := keep()
	s.known[string(key)] = &kept
	return &kept
}
