package serving

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// tokens answers reviews of tokens in virtual time.
type tokens func(review *authenticationv1.TokenReview) error

func (f tokens) Create(
	_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions,
) (*authenticationv1.TokenReview, error) {
	answer := review.DeepCopy()
	return answer, f(answer)
}

// rights answers reviews of access in virtual time.
type rights func(review *authorizationv1.SubjectAccessReview) error

func (f rights) Create(
	_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	answer := review.DeepCopy()
	return answer, f(answer)
}

// C5: the user of a token is the one of the review, and an error is never a
// user.
func TestC5TokenReviews(t *testing.T) {
	accepted := authenticationv1.TokenReviewStatus{
		Authenticated: true, Error: "not read", User: authenticationv1.UserInfo{
			Username: "a", UID: "1", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}},
		},
	}
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		status authenticationv1.TokenReviewStatus
		err    error
		want   user.Info
		says   string
	}{
		"accepted": {status: accepted, want: &user.DefaultInfo{
			Name: "a", UID: "1", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}},
		}},
		"refused":            {},
		"refused with why":   {status: authenticationv1.TokenReviewStatus{Error: "expired"}, says: "expired"},
		"failed":             {err: failed, says: "review a token: failed"},
		"failed with a user": {status: accepted, err: failed, says: "review a token: failed"},
	} {
		t.Run(name, func(t *testing.T) {
			reviewer := tokenReviewer{tokens(func(review *authenticationv1.TokenReview) error {
				require.Equal(t, authenticationv1.TokenReviewSpec{Token: "secret"}, review.Spec)
				review.Status = test.status
				return test.err
			})}
			answer, ok, err := reviewer.AuthenticateToken(t.Context(), "secret")
			if test.says != "" {
				require.EqualError(t, err, test.says)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, test.want != nil, ok)
			if ok {
				require.Equal(t, test.want, answer.User)
			}
		})
	}
}

// asks is a question of one user about a path.
func asks(path, name string, groups ...string) authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: name, UID: "1", Groups: groups, Extra: map[string][]string{"k": {"v"}}},
		Verb: "get", Path: path,
	}
}

// C5: an answer holds for its time, for one caller and path. A failure holds
// for none.
func TestC5AccessReviewsHoldForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []authorizationv1.SubjectAccessReviewSpec
		var failure error
		reviewer := newAccessReviewer(rights(func(review *authorizationv1.SubjectAccessReview) error {
			asked = append(asked, review.Spec)
			review.Status.Allowed = review.Spec.User != "stranger"
			review.Status.Denied = review.Spec.User == "denied"
			return failure
		}), time.Minute, time.Second)
		decide := func(want authorizer.Decision, questions int, attributes authorizer.Attributes) {
			t.Helper()
			asked = nil
			decision, _, err := reviewer.authorize(t.Context(), attributes)
			require.ErrorIs(t, err, failure)
			require.Equal(t, want, decision)
			require.Len(t, asked, questions)
		}
		failure = errors.New("failed")
		decide(authorizer.DecisionNoOpinion, 1, asks("/page", "reader", "g"))
		failure = nil
		decide(authorizer.DecisionAllow, 1, asks("/page", "reader", "g"))
		require.Equal(t, authorizationv1.SubjectAccessReviewSpec{
			User: "reader", UID: "1", Groups: []string{"g"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}},
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/page", Verb: "get"},
		}, asked[0])
		decide(authorizer.DecisionNoOpinion, 1, asks("/page", "stranger", "g"))
		decide(authorizer.DecisionNoOpinion, 1, asks("/page", "denied", "g"))
		time.Sleep(time.Second - 1)
		decide(authorizer.DecisionNoOpinion, 0, asks("/page", "stranger", "g"))
		decide(authorizer.DecisionAllow, 1, asks("/page", "reader"))
		decide(authorizer.DecisionAllow, 1, asks("/other", "reader", "g"))
		time.Sleep(2 * time.Nanosecond)
		decide(authorizer.DecisionNoOpinion, 1, asks("/page", "stranger", "g"))
		decide(authorizer.DecisionAllow, 0, asks("/page", "reader", "g"))
		time.Sleep(time.Minute)
		decide(authorizer.DecisionAllow, 1, asks("/page", "reader", "g"))
	})
}

// C5: callers choose paths and users, and cannot fill the memory with them.
func TestC5AnswersAreBounded(t *testing.T) {
	reviewer := newAccessReviewer(rights(func(*authorizationv1.SubjectAccessReview) error { return nil }),
		time.Hour, time.Hour)
	for length := range accessAnswers + 100 {
		_, _, err := reviewer.authorize(t.Context(), asks("/"+strings.Repeat("x", length), "stranger"))
		require.NoError(t, err)
	}
	require.Len(t, reviewer.answers.Keys(), accessAnswers)
	for _, key := range reviewer.answers.Keys() {
		require.Len(t, key, 32)
	}
}

// C5: a failure that passes is no answer, and one that lasts is known soon.
func TestC5ReviewsAreTriedAgain(t *testing.T) {
	group := schema.GroupResource{Resource: "tokenreviews"}
	for name, test := range map[string]struct {
		failure  error
		failures int
		calls    int
		works    bool
		atMost   time.Duration
	}{
		"passes":      {apierrors.NewInternalError(errors.New("starting")), 2, 3, true, 2 * time.Second},
		"load":        {apierrors.NewTooManyRequests("load", 1), 1, 2, true, time.Second},
		"a time":      {apierrors.NewServerTimeout(group, "create", 1), 1, 2, true, time.Second},
		"lasts":       {apierrors.NewInternalError(errors.New("broken")), 99, 5, false, 5 * time.Second},
		"not allowed": {apierrors.NewForbidden(group, "", errors.New("role")), 99, 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, begun := 0, time.Now()
				reviewer := tokenReviewer{tokens(func(review *authenticationv1.TokenReview) error {
					review.Status.Authenticated = true
					if calls++; calls <= test.failures {
						return test.failure
					}
					return nil
				})}
				_, ok, err := reviewer.AuthenticateToken(t.Context(), "secret")
				require.Equal(t, test.works, ok)
				require.Equal(t, test.calls, calls)
				require.LessOrEqual(t, time.Since(begun), test.atMost)
				if !ok {
					require.ErrorIs(t, err, test.failure)
				}
			})
		})
	}
}

// C5: a caller that has gone, or has waited for long enough, ends the tries.
func TestC5ReviewsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun, broken := time.Now(), apierrors.NewInternalError(errors.New("broken"))
		reviewer := newAccessReviewer(rights(func(*authorizationv1.SubjectAccessReview) error { return broken }), 0, 0)
		_, _, err := reviewer.authorize(ctx, asks("/page", "reader"))
		require.ErrorIs(t, err, broken)
		require.Equal(t, time.Second, time.Since(begun))
	})
}
