package edge

// mostKept bounds what is remembered for objects to come. A fleet has fewer
// templates of pods, and the pods that start in a second come together.
const mostKept = 256

// encoded is an object that can be encoded, as the generated types of the API.
type encoded interface {
	Size() int
	MarshalToSizedBuffer(into []byte) (int, error)
}

// kept keeps equal values once. Values are equal if their encodings are.
type kept[T any] struct {
	known map[string]*T
	text  []byte // room for one encoding
}

// of returns the known value of an encoding. If there is none, it is what keep
// returns, which is known from then on.
func (s *kept[T]) of(object encoded, keep func() T) *T {
	size := object.Size()
	if size > cap(s.text) {
		s.text = make([]byte, 2*size)
	}
	text := s.text[:size]
	n, err := object.MarshalToSizedBuffer(text)
	if err != nil {
		value := keep() // there is no encoding of it
		return &value
	}
	key := text[size-n:]
	if known, found := s.known[string(key)]; found {
		return known
	}
	if s.known == nil || len(s.known) >= mostKept {
		s.known = map[string]*T{}
	}
	value := keep()
	s.known[string(key)] = &value
	return &value
}
