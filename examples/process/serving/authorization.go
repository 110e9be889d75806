package serving

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/path"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// authorization says which callers may read which page.
type authorization struct {
	// open allows paths to every caller.
	open authorizer.Authorizer
	// permit allows the rest to some.
	permit authorizer.Authorizer
}

func newAuthorization(o *commandline.Authorization, agent string) (*authorization, error) {
	open, err := path.NewAuthorizer(o.AlwaysAllowPaths)
	if err != nil {
		return nil, fmt.Errorf("--authorization-always-allow-paths: %w", err)
	}
	client, err := reviewClient(o.Kubeconfig, agent)
	if err != nil {
		return nil, fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	ask := func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if client != nil {
		ask = newAccessReviewer(client.AuthorizationV1().SubjectAccessReviews(), o.AllowTTL, o.DenyTTL).authorize
	}
	return &authorization{open: open, permit: authorizer.AuthorizerFunc(
		func(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
			// The API server gives this group every right, so it is not asked.
			if slices.Contains(asked.GetUser().GetGroups(), user.SystemPrivilegedGroup) {
				return authorizer.DecisionAllow, "", nil
			}
			return ask(ctx, asked)
		},
	)}, nil
}
