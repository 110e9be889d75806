package network

import "time"

// A Message is on its way between a client and the API server.
type Message struct {
	Kind   MessageKind
	Client *Client
	// Call is the call or the one that is answered. It is nil for an event.
	Call *Call
	// Of and Name say what an event of a watch is about. A list has no name.
	Of   Kind
	Name string
}

// MessageKind is what a message is.
type MessageKind string

// The kinds of messages.
const (
	MessageCall   MessageKind = "call"
	MessageAnswer MessageKind = "answer"
	MessageEvent  MessageKind = "event"
)

// Fate is what becomes of a message. The zero value lets it go its way.
type Fate struct {
	// Later is how much longer it takes. Behind an event wait those that follow in
	// its watch.
	Later time.Duration
	// Lost takes an answer away: its client sees a timeout.
	Lost bool
}

// Decide has decide say what becomes of each message at the moment in which it
// is sent. Decide must not change the world, except that it may have the client
// die with the message. It may plan something for now.
func (n *Network) Decide(decide func(Message) Fate) { n.decide = decide }

func (n *Network) fate(m Message) Fate {
	if n.decide == nil {
		return Fate{}
	}
	return n.decide(m)
}
