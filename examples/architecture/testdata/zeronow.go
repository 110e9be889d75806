package zone

func NewRefused(now time.Time) (*Queue, error) {
	if now.IsZero() {
		return nil, errors.New("zero")
	}
	return nil, nil
}

func NewByAnother(now time.Time) (*Queue, error) {
	return made[int](3, now)
}

func NewByItsPart(now time.Time) (*Queue, error) {
	part, err := made(now)
	return &Queue{part}, err
}

func NewPlaced(now time.Time) (*Queue, error) { // want NewPlaced accepts a zero now
	return placed(now), nil
}

func NewKept(now time.Time) (*Queue, error) { // want NewKept accepts a zero now
	q := placed(now)
	return q, nil
}

func NewTimeless() (*Queue, error)   { return nil, nil }
func newUnseen(now time.Time) *Queue { return nil }
