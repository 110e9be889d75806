package cri

import "time"

// NoticeKind says what a step that starts something has just done.
type NoticeKind string

const (
	// NoticePulling: the pull of the image begins.
	NoticePulling NoticeKind = "Pulling"
	// NoticePulled: the image was pulled. It took the time Took.
	NoticePulled NoticeKind = "Pulled"
	// NoticePresent: the image is there already.
	NoticePresent NoticeKind = "Present"
	// NoticeCreated: the container was created.
	NoticeCreated NoticeKind = "Created"
	// NoticeStarted: the container was started.
	NoticeStarted NoticeKind = "Started"
	// NoticeFailed: the step has failed because of Reason and Message.
	NoticeFailed NoticeKind = "Failed"
)

// Notice tells at once what a plan is doing. Its report comes when all steps
// have ended, which can be much later.
type Notice struct {
	Kind NoticeKind
	// Container is the name of the container, or empty for the sandbox.
	Container       string
	Took            time.Duration
	Reason, Message string
}
