package controller

// ShortenTurns has each turn visit so few records that even a small world needs
// several turns. A set and one of its nodes are two.
func (c *Controller) ShortenTurns(visits int) { c.visitsOfTurn, c.stepsOfTurn = visits, visits }
