package simulation

// Acting returns the process that acts, nil if none does now. Where several
// act, as in a split brain, it is the one with the lowest number.
func (s *Simulation) Acting() *Replica {
	for _, r := range s.replicas {
		if r.Acts() {
			return r
		}
	}
	return nil
}
