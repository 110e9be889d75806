package heartbeat

import "errors"

var (
	// ErrInvalidConfig is wrapped by the errors of [NewSender], and by that of
	// [Sender.Add] for a node that lacks something.
	ErrInvalidConfig = errors.New("invalid heartbeat config")
	// ErrDuplicateNode is wrapped by the error of [Sender.Add] for a name that has
	// been added already.
	ErrDuplicateNode = errors.New("heartbeats of this node are being sent already")
	// ErrRunning is returned by [Sender.Run] while it runs already.
	ErrRunning = errors.New("sender is running already")
)

// Why a beat fails or is withheld.
var (
	// errNodeGone means that there is no Node with our UID.
	errNodeGone = errors.New("the Node is gone, or another one has its name")
	errSilent   = errors.New("the node is paused, or its time by AliveFor is over")
)
