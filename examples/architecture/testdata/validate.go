package zone

func (Nothing) Validate() error { return nil }

func (Joined) Validate() error {
	if bad {
		return errors.Join(a)
	}
	check := func() error { return errors.New("a") }
	return errors.Join(check(), c)
}

func (Only) Validate() error {
	if bad {
		return errors.New("a")
	}
	return nil
}

func (First) Validate() error { // want First.Validate has 2 failing returns
	if bad {
		return errors.New("a")
	}
	return errors.New("b")
}

func (HalfJoined) Validate() error { // want HalfJoined.Validate has 2 failing returns
	if bad {
		return errors.New("a")
	}
	return errors.Join(b)
}
