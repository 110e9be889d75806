package zone

func (*Queue) ObserveNode(now time.Time, name string) {}
func (*Queue) Forget(key string)                      {} // want Queue.Forget does not take now
func (*Queue) ForgetNode(key string)                  {} // want Queue.ForgetNode does not take now
func (*Queue) Start(key string, now time.Time)        {} // want Queue.Start does not take now
func (*Queue) Next(at time.Time)                      {} // want Queue.Next does not take now
func (*Queue) Finish(now time.Duration)               {} // want Queue.Finish does not take now
func (*Queue) Observer()                              {}
func (queue) Start()                                  {}
func Start()                                          {}
