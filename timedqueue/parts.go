package timedqueue

import "math"

// parts divides the tokens of a [Throttle] between kinds of work. Each kind with
// a reserved part has a credit. A token that is granted while the kind has work
// to start adds its part; a token of its own subtracts one.
//
// The next token goes to the kind with a positive credit that would otherwise
// fall short first, as in Pfair scheduling (Baruah and others, 1996). With no
// positive credit it goes by the order of the kinds. While a kind has work to
// start, it gets at least its part of the tokens, less one. No token waits for
// a kind without work.
type parts struct {
	part   []float64 // by kind; zero: none is reserved
	credit []float64
	had    []bool // the kind had work when the last token was granted
}

func newParts(part []float64) *parts {
	return &parts{part, make([]float64, len(part)), make([]bool, len(part))}
}

// mostDebt is the lowest credit of a kind that used tokens of others. Without a
// bound, a kind that was alone for an hour would then wait for an hour.
const mostDebt = -1

// roundingError is above the rounding error of a sum of parts.
const roundingError = 1e-9

// entitled returns the kind that the next token is reserved for, given the
// kinds that have work to start. False means that it goes by the order of the
// kinds.
func (p *parts) entitled(has func(kind int) bool) (int, bool) {
	best, leastSlack := -1, math.Inf(1)
	for kind, part := range p.part {
		if part == 0 || !has(kind) {
			continue
		}
		credit := p.creditNow(kind) + part
		if credit <= roundingError {
			continue
		}
		slack := math.Floor((1-credit)/part + roundingError)
		if slack < leastSlack || slack == leastSlack && part > p.part[best] {
			best, leastSlack = kind, slack
		}
	}
	return best, best >= 0
}

// creditNow is a kind's credit. New work after a pause begins with none.
func (p *parts) creditNow(kind int) float64 {
	if !p.had[kind] {
		return 0
	}
	return p.credit[kind]
}

// granted counts a token that a kind was given.
func (p *parts) granted(to int, has func(kind int) bool) {
	for kind, part := range p.part {
		if !has(kind) {
			p.had[kind] = false
			continue
		}
		p.credit[kind] = p.creditNow(kind) + part
		if kind == to {
			p.credit[kind] = max(p.credit[kind]-1, mostDebt)
		}
		p.had[kind] = true
	}
}
