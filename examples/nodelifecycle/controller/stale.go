package controller

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// staleness counts what shows that a cache is behind the API server.
type staleness struct {
	// refused counts the writes that the API server has refused because the object
	// is not the one that they were computed from, or is gone.
	refused int
	// stale counts the live reads after them that have shown what the watch had
	// not.
	stale int
}

// refuses counts a write that has failed, if it was refused, and reports whether
// it was.
func (s *staleness) refuses(err error) bool {
	if !isRefusal(err) {
		return false
	}
	s.refused++
	return true
}

// shows counts what a live read has shown, if it is news, and reports whether it
// is.
func (s *staleness) shows(known, before, live metav1.Object) bool {
	if !isNews(known, before, live) {
		return false
	}
	s.stale++
	return true
}

// isNews reports whether a live read has shown what the watch has not. It is
// newer than what was known when it began, whatever the versions are: a restore
// of the API server's store sets them back.
func isNews(known, before, live metav1.Object) bool {
	version := known.GetResourceVersion()
	if known == live { // it was observed when it was returned
		version = before.GetResourceVersion()
	}
	if live.GetResourceVersion() == version {
		return false
	}
	return version == before.GetResourceVersion() || older(version, live.GetResourceVersion())
}

// isRefusal reports whether the API server has refused a write because the
// object is not the one that it was computed from, or is gone.
func isRefusal(err error) bool {
	return taints.IsStale(err) || isOfAnother(err) || eviction.SaysGone(err)
}

// isOfAnother reports whether the API server has refused a patch of labels
// because the object has another UID, which would change. Other patches test the
// UID; see taints.IsStale.
func isOfAnother(err error) bool {
	cause, is := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return is && cause.Field == "metadata.uid"
}

// resultOfRead is the result of a live read of an object. What comes next is
// computed from what was read. An object that is gone may be created again
// before the watch shows either.
func resultOfRead(backoff timedqueue.Backoff, now time.Time, err error) timedqueue.Result {
	switch {
	case err == nil:
		return timedqueue.Result{Outcome: timedqueue.OutcomePostponed, At: now}
	case eviction.SaysGone(err):
		return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, RetryAfter: backoff.Longest()}
	}
	return timedqueue.Result{Outcome: timedqueue.OutcomeFailed}
}
