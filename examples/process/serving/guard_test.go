package serving

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/klog/v2"
)

// decide answers all that is asked in the same way.
func decide(decision authorizer.Decision, err error) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return decision, "", err
	})
}

// C5: whatever fails, the page is not shown, and callers do not fill the log.
func TestC5FailuresShowNothing(t *testing.T) {
	failed := errors.New("failed")
	known := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "a"}}, true, nil
	})
	for _, test := range []struct {
		identify     authenticator.Request
		open, permit authorizer.Authorizer
		want, logged int
	}{
		{nil, decide(authorizer.DecisionNoOpinion, nil), authorizerfactory.NewAlwaysAllowAuthorizer(), 401, 0},
		{authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return nil, false, failed
		}), decide(authorizer.DecisionNoOpinion, nil), authorizerfactory.NewAlwaysAllowAuthorizer(), 401, 1},
		{known, decide(authorizer.DecisionDeny, nil), decide(authorizer.DecisionAllow, nil), 200, 0},
		{known, decide(authorizer.DecisionAllow, failed), decide(authorizer.DecisionDeny, nil), 403, 0},
		{known, decide(authorizer.DecisionNoOpinion, nil), decide(authorizer.DecisionNoOpinion, failed), 500, 1},
		{known, decide(authorizer.DecisionNoOpinion, nil), decide(authorizer.DecisionNoOpinion, nil), 403, 0},
	} {
		lines := 0
		logger := funcr.New(func(_, _ string) { lines++ }, funcr.Options{})
		g := &guard{
			open: test.open, identify: test.identify, permit: test.permit,
			page:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }),
			logging: rate.Sometimes{Interval: time.Hour},
		}
		for range 3 {
			answer := httptest.NewRecorder()
			g.ServeHTTP(answer, request(t).WithContext(klog.NewContext(t.Context(), logger)))
			require.Equal(t, test.want, answer.Code)
			require.Equal(t, test.want == 200, answer.Body.String() == "page")
			if test.want == 401 {
				require.Equal(t, "Bearer", answer.Header().Get("WWW-Authenticate"))
			}
		}
		require.Equal(t, test.logged, lines)
	}
}

// C5: handshakes that fail do not fill the log, and hide nothing else in it.
func TestC5HandshakesDoNotFillTheLog(t *testing.T) {
	lines := 0
	l := &errorLog{
		logger:     funcr.New(func(_, _ string) { lines++ }, funcr.Options{Verbosity: 2}),
		handshakes: rate.Sometimes{Interval: time.Hour},
	}
	for range 3 {
		_, err := fmt.Fprint(l, "http: TLS handshake error from x: y\n")
		require.NoError(t, err)
	}
	require.Equal(t, 1, lines)
	for range 3 {
		_, err := fmt.Fprint(l, "http: panic serving x\n")
		require.NoError(t, err)
	}
	require.Equal(t, 4, lines)
}
