package network

// A Witness is told what happens, while it happens: it must not change
// anything. Objects must not be modified.
type Witness interface {
	// Sent, Processed and Answered: a client's call has left, has been dealt with
	// by the server, and is over for the client. Not every call gets so far.
	Sent(*Call)
	Processed(*Call)
	Answered(*Call)
	// Saw: a watch has shown a version to a client. Before is nil for a new
	// object, and after for one that is gone. What a [Lens] shows is cleared when
	// Saw has returned.
	Saw(client *Client, kind Kind, before, after Object)
	// Noted: something that is told and not seen.
	Noted(Note)
}

// Unimpressed is a witness that does nothing. Embed it to leave some of it out.
type Unimpressed struct{}

var _ Witness = Unimpressed{}

// Sent does nothing.
func (Unimpressed) Sent(*Call) {}

// Processed does nothing.
func (Unimpressed) Processed(*Call) {}

// Answered does nothing.
func (Unimpressed) Answered(*Call) {}

// Saw does nothing.
func (Unimpressed) Saw(*Client, Kind, Object, Object) {}

// Noted does nothing.
func (Unimpressed) Noted(Note) {}

// Note is something that happened: a fault, or a turn in the life of a client.
type Note struct {
	Kind NoteKind
	// Client is the client that it is about, nil if it is about none.
	Client *Client
	Text   string
}

// NoteKind says what a note tells.
type NoteKind string

// What notes tell.
const (
	FaultBegan NoteKind = "fault began"
	FaultEnded NoteKind = "fault ended"
	// Started: a process has started. Synced: its first lists are in. Leads: it
	// acts. Stopped: it has ended, by itself or not. Paused, Resumed: it stands
	// still.
	Started NoteKind = "started"
	Synced  NoteKind = "synced"
	Leads   NoteKind = "leads"
	Stopped NoteKind = "stopped"
	Paused  NoteKind = "paused"
	Resumed NoteKind = "resumed"
)

// Note tells all witnesses something.
func (n *Network) Note(note Note) {
	for _, witness := range n.witnesses {
		witness.Noted(note)
	}
}
