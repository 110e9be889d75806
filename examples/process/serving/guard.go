package serving

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/time/rate"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2"
)

// guard answers a request itself unless its caller may read the page.
type guard struct {
	// open allows paths to every caller.
	open authorizer.Authorizer
	// identify is nil when there is nothing to tell callers by.
	identify authenticator.Request
	permit   authorizer.Authorizer
	page     http.Handler
	// logging is at most once a second: callers without credentials decide how
	// often there is something to log.
	logging rate.Sometimes
}

func (g *guard) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	ctx, cancel := context.WithTimeout(request.Context(), reviewTime)
	defer cancel()
	asked := authorizer.AttributesRecord{
		User: &user.DefaultInfo{}, Verb: strings.ToLower(request.Method), Path: request.URL.Path,
	}
	if decision, _, err := g.open.Authorize(ctx, asked); err == nil && decision == authorizer.DecisionAllow {
		g.page.ServeHTTP(w, request)
		return
	}
	caller, err := g.caller(request.WithContext(ctx))
	if caller == nil {
		g.log(request, err, "Refused a request whose caller is not known")
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "401 unauthorized: no valid token or client certificate", http.StatusUnauthorized)
		return
	}
	asked.User = caller
	decision, _, err := g.permit.Authorize(ctx, asked)
	switch {
	case decision == authorizer.DecisionAllow:
		g.page.ServeHTTP(w, request)
	case err != nil:
		g.log(request, err, "Cannot find out what a caller may do")
		http.Error(w, "500 cannot find out whether the request is permitted", http.StatusInternalServerError)
	default:
		http.Error(w, fmt.Sprintf("403 forbidden: user %q may not %s path %q", caller.GetName(), asked.Verb, asked.Path),
			http.StatusForbidden)
	}
}

// caller returns nil for one that is not known, with an error if there is a
// reason.
func (g *guard) caller(request *http.Request) (user.Info, error) {
	if g.identify == nil {
		return nil, nil
	}
	answer, ok, err := g.identify.AuthenticateRequest(request)
	if err != nil || !ok {
		return nil, err
	}
	return answer.User, nil
}

func (g *guard) log(request *http.Request, err error, message string) {
	if err == nil {
		return
	}
	g.logging.Do(func() {
		klog.FromContext(request.Context()).Info(message, "from", request.RemoteAddr, "path", request.URL.Path, "err", err)
	})
}
