package serving

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"

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
	// The API server gives this group every right, so it is not asked.
	permit := []union.NamedAuthorizer{{
		AuthorizerName: "privileged-group",
		Authorizer:     authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup),
	}}
	client, err := reviewClient(o.Kubeconfig, agent)
	if err != nil {
		return nil, fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	if client != nil {
		asking, err := authorizerfactory.DelegatingAuthorizerConfig{
			SubjectAccessReviewClient: client.AuthorizationV1(),
			AllowCacheTTL:             o.AllowTTL,
			DenyCacheTTL:              o.DenyTTL,
			WebhookRetryBackoff:       reviewBackoff(),
		}.New()
		if err != nil {
			return nil, fmt.Errorf("set up authorization: %w", err)
		}
		permit = append(permit, union.NamedAuthorizer{AuthorizerName: "subject-access-review", Authorizer: asking})
	}
	a := &authorization{open: open}
	if a.permit, err = union.New(permit...); err != nil {
		return nil, fmt.Errorf("set up authorization: %w", err)
	}
	return a, nil
}
