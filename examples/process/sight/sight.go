// Package sight lets a controller know whether the API server takes writes, so
// that silence of nodes counts only while their heartbeats could be stored. It
// learns that from what comes of its own writes; see nodehealth.Monitor.
package sight

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A Sight tells a controller whether the API server answers, by what comes of
// the calls about its lease. A write that was answered shows that the store
// takes writes, so that heartbeats of nodes get there too. A read shows that
// only if another process has written meanwhile: a store without space can be
// read.
type Sight struct {
	// Answered is called when the answer to a write was there that was sent at a
	// time, and Unanswered when a call has failed. Nil does nothing.
	Answered   func(now, sent time.Time)
	Unanswered func()
}

// Wrote takes what came of a write. That it was refused for what is stored is
// an answer. That this process may not send it, or that the lease is gone, says
// nothing about the store.
func (s *Sight) Wrote(sent time.Time, err error) {
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		if s.Answered != nil {
			s.Answered(time.Now(), sent)
		}
	default:
		s.failed(err)
	}
}

// Read takes what came of a read. What another process has written since the
// read before shows that the store took writes at that time, and says nothing of
// later. Since is zero if it has written nothing.
func (s *Sight) Read(since time.Time, err error) {
	switch {
	case err != nil:
		s.failed(err)
	case !since.IsZero() && s.Answered != nil:
		s.Answered(since, since)
	}
}

func (s *Sight) failed(err error) {
	says := apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	if says || s.Unanswered == nil || errors.Is(err, context.Canceled) {
		return
	}
	s.Unanswered()
}
