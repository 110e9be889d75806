package serving

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// The reviews are written here because the delegating ones of k8s.io/apiserver
// link CEL, gRPC and OpenTelemetry. Those keep the linker from dropping unused
// methods, which made each program 76 MB larger.

// reviewTime bounds what the API server is asked about one request.
const reviewTime = 10 * time.Second

// reviewBackoff says how a failed review is tried again, as
// kube-controller-manager does.
func reviewBackoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
}

// tokenReviews asks the API server about tokens. client-go's
// TokenReviewInterface satisfies it.
type tokenReviews interface {
	Create(
		ctx context.Context, review *authenticationv1.TokenReview, options metav1.CreateOptions,
	) (*authenticationv1.TokenReview, error)
}

// tokenReviewer tells callers by tokens that the API server accepts.
type tokenReviewer struct{ client tokenReviews }

var _ authenticator.Token = tokenReviewer{}

// AuthenticateToken returns the user of a token, and false when the API server
// does not accept it. The audience is that of the API server.
func (r tokenReviewer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	// The cache in front asks for all callers of a token, and waits for longer.
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	answer, err := patiently(ctx, func() (*authenticationv1.TokenReview, error) {
		return r.client.Create(ctx, review, metav1.CreateOptions{})
	})
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("review a token: %w", err)
	case !answer.Status.Authenticated && answer.Status.Error != "":
		return nil, false, errors.New(answer.Status.Error)
	case !answer.Status.Authenticated:
		return nil, false, nil
	}
	shown := answer.Status.User
	caller := &user.DefaultInfo{Name: shown.Username, UID: shown.UID, Groups: shown.Groups}
	for key, values := range shown.Extra {
		if caller.Extra == nil {
			caller.Extra = map[string][]string{}
		}
		caller.Extra[key] = values
	}
	return &authenticator.Response{User: caller}, true, nil
}

// accessReviews asks the API server what callers may do. client-go's
// SubjectAccessReviewInterface satisfies it.
type accessReviews interface {
	Create(
		ctx context.Context, review *authorizationv1.SubjectAccessReview, options metav1.CreateOptions,
	) (*authorizationv1.SubjectAccessReview, error)
}

// accessAnswers is how many answers are kept. Each takes some hundred bytes.
const accessAnswers = 8192

// accessReviewer permits what the API server permits. Each answer holds for a
// while.
type accessReviewer struct {
	client            accessReviews
	allowTTL, denyTTL time.Duration
	answers           *cache.LRUExpireCache
}

func newAccessReviewer(client accessReviews, allowTTL, denyTTL time.Duration) *accessReviewer {
	return &accessReviewer{
		client: client, allowTTL: allowTTL, denyTTL: denyTTL, answers: cache.NewLRUExpireCache(accessAnswers),
	}
}

// authorize says whether a caller may read a path. It has an opinion only on
// what is permitted.
func (r *accessReviewer) authorize(
	ctx context.Context, asked authorizer.Attributes,
) (authorizer.Decision, string, error) {
	caller := asked.GetUser()
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: caller.GetName(), UID: caller.GetUID(), Groups: caller.GetGroups(),
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: asked.GetPath(), Verb: asked.GetVerb()},
	}
	for key, values := range caller.GetExtra() {
		if spec.Extra == nil {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		spec.Extra[key] = values
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	// Callers choose how long a path is, so the text itself would be a key without
	// a bound.
	key := sha256.Sum256(text)
	if answer, known := r.answers.Get(key); known {
		if decision, is := answer.(authorizer.Decision); is {
			return decision, "", nil
		}
	}
	answer, err := patiently(ctx, func() (*authorizationv1.SubjectAccessReview, error) {
		return r.client.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	})
	if err != nil {
		return authorizer.DecisionNoOpinion, "", fmt.Errorf("review access: %w", err)
	}
	decision, ttl := authorizer.DecisionNoOpinion, r.denyTTL
	if answer.Status.Allowed && !answer.Status.Denied {
		decision, ttl = authorizer.DecisionAllow, r.allowTTL
	}
	r.answers.Add(key, decision, ttl)
	return decision, "", nil
}

// patiently asks again after failures that pass by themselves, as
// kube-controller-manager does. It returns the last answer.
func patiently[R any](ctx context.Context, ask func() (R, error)) (answer R, failure error) {
	err := wait.ExponentialBackoffWithContext(ctx, reviewBackoff(), func(context.Context) (bool, error) {
		answer, failure = ask()
		return failure == nil || !passes(failure), nil
	})
	if failure == nil {
		failure = err
	}
	return answer, failure
}

// passes reports whether a call may succeed soon. Source: DefaultShouldRetry in
// k8s.io/apiserver/pkg/util/webhook, v0.37.1.
func passes(err error) bool {
	_, delayed := apierrors.SuggestsClientDelay(err)
	return delayed || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}
