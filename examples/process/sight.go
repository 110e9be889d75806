package process

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A sight tells a controller whether the API server answers, by what comes of
// the calls about its lease. A write that was answered shows that the store
// takes writes, so that heartbeats of nodes get there too. A read shows that
// only if another process has written meanwhile: a store without space can be
// read.
type sight struct {
	// answered is called when the answer to a write was there that was sent at a
	// time, and unanswered when a call has failed. Nil does nothing.
	answered   func(now, sent time.Time)
	unanswered func()
}

// wrote takes what came of a write. That it was refused for what is stored is
// an answer. That this process may not send it, or that the lease is gone, says
// nothing about the store.
func (s *sight) wrote(sent time.Time, err error) {
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		if s.answered != nil {
			s.answered(time.Now(), sent)
		}
	default:
		s.failed(err)
	}
}

// read takes what came of a read. What another process has written since the
// read before shows that the store took writes at that time, and says nothing of
// later. Since is zero if it has written nothing.
func (s *sight) read(since time.Time, err error) {
	switch {
	case err != nil:
		s.failed(err)
	case !since.IsZero() && s.answered != nil:
		s.answered(since, since)
	}
}

func (s *sight) failed(err error) {
	says := apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	if says || s.unanswered == nil || errors.Is(err, context.Canceled) {
		return
	}
	s.unanswered()
}
