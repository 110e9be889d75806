package serving

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// The ConfigMap in which a cluster says which authorities to trust.
const (
	lookupNamespace = metav1.NamespaceSystem
	lookupName      = "extension-apiserver-authentication"
)

// authentication tells callers by what they show.
type authentication struct {
	// identify is nil when there is nothing to tell callers by.
	identify authenticator.Request
	// authorities are those of all certificates, nil for none. TLS names them to
	// callers, which choose a certificate by that.
	authorities dynamiccertificates.CAContentProvider
	following   []func(context.Context)
}

// newAuthentication reads what the flags leave to the cluster.
func newAuthentication(ctx context.Context, o *commandline.Authentication, agent string) (*authentication, error) {
	client, err := reviewClient(o.Kubeconfig, agent)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	logger := klog.FromContext(ctx)
	a := &authentication{}
	lookup := !o.SkipLookup && client != nil
	if client == nil {
		logger.Info("Outside of a cluster, and without --authentication-kubeconfig, no token is accepted")
	}
	if lookup {
		if err := readable(ctx, client); err != nil && !o.TolerateLookupFailure {
			return nil, err
		} else if err != nil {
			logger.Error(err, "Starts without the authorities of the cluster")
		}
	}
	var ways []authenticator.Request
	believed, err := a.proxies(ctx, &o.RequestHeader, client, lookup)
	if err != nil {
		return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
	}
	if believed != nil {
		ways = append(ways, believed)
	}
	users, err := a.users(o, client, lookup)
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file: %w", err)
	}
	if users != nil {
		ways = append(ways, x509.NewDynamic(users.VerifyOptions, x509.CommonNameUserConversion))
	}
	if client != nil {
		reviewed := tokenReviewer{client.AuthenticationV1().TokenReviews()}
		ways = append(ways, bearertoken.New(cache.New(reviewed, false, o.CacheTTL, o.CacheTTL)))
	}
	if len(ways) > 0 {
		a.identify = group.NewAuthenticatedGroupAdder(union.New(ways...))
	}
	return a, nil
}

// readable makes sure that the ConfigMap can be read.
func readable(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ConfigMaps(lookupNamespace).Get(ctx, lookupName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf(
			"read which authorities to trust (its reader has the role extension-apiserver-authentication-reader; "+
				"--authentication-tolerate-lookup-failure and --authentication-skip-lookup do without): %w", err)
	}
	return nil
}

// users returns the authorities of users' certificates, nil for none.
func (a *authentication) users(o *commandline.Authentication, client kubernetes.Interface,
	lookup bool) (dynamiccertificates.CAContentProvider, error) {
	switch {
	case o.ClientCAFile != "":
		return a.fromFile("client-ca-bundle", o.ClientCAFile)
	case lookup:
		return a.fromCluster("client-ca", "client-ca-file", client)
	}
	return nil, nil
}

// proxies tells callers by the headers of proxies that are believed. Nil is
// none.
func (a *authentication) proxies(
	ctx context.Context, o *commandline.RequestHeader, client kubernetes.Interface, lookup bool,
) (authenticator.Request, error) {
	const purpose = "request-header"
	if o.ClientCAFile != "" {
		authorities, err := a.fromFile(purpose, o.ClientCAFile)
		if err != nil {
			return nil, err
		}
		return headerrequest.NewDynamicVerifyOptionsSecure(
			authorities.VerifyOptions,
			headerrequest.StaticStringSlice(o.AllowedNames),
			headerrequest.StaticStringSlice(o.UsernameHeaders),
			headerrequest.StaticStringSlice(o.UIDHeaders),
			headerrequest.StaticStringSlice(o.GroupHeaders),
			headerrequest.StaticStringSlice(o.ExtraHeaderPrefixes),
		), nil
	}
	if !lookup {
		return nil, nil
	}
	authorities, err := a.fromCluster(purpose, "requestheader-client-ca-file", client)
	if err != nil {
		return nil, err
	}
	names := headerrequest.NewRequestHeaderAuthRequestController(
		lookupName, lookupNamespace, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names",
	)
	if err := names.RunOnce(ctx); err != nil {
		// It is read again while it is followed; until then no header is believed.
		klog.FromContext(ctx).Error(err, "Read which headers of proxies to believe")
	}
	a.following = append(a.following, func(ctx context.Context) { names.Run(ctx, 1) })
	return headerrequest.NewDynamicVerifyOptionsSecure(
		authorities.VerifyOptions,
		headerrequest.StringSliceProviderFunc(names.AllowedClientNames),
		headerrequest.StringSliceProviderFunc(names.UsernameHeaders),
		headerrequest.StringSliceProviderFunc(names.UIDHeaders),
		headerrequest.StringSliceProviderFunc(names.GroupHeaders),
		headerrequest.StringSliceProviderFunc(names.ExtraHeaderPrefixes),
	), nil
}

// followed is a source of authorities that is read again while it runs.
type followed interface {
	dynamiccertificates.CAContentProvider
	dynamiccertificates.ControllerRunner
}

func (a *authentication) fromFile(purpose, path string) (dynamiccertificates.CAContentProvider, error) {
	file, err := dynamiccertificates.NewDynamicCAContentFromFile(purpose, path)
	if err != nil {
		return nil, err
	}
	return a.follow(file), nil
}

func (a *authentication) fromCluster(purpose, key string,
	client kubernetes.Interface) (dynamiccertificates.CAContentProvider, error) {
	told, err := dynamiccertificates.NewDynamicCAFromConfigMapController(purpose, lookupNamespace, lookupName, key, client)
	if err != nil {
		return nil, err
	}
	return a.follow(told), nil
}

func (a *authentication) follow(authorities followed) dynamiccertificates.CAContentProvider {
	a.following = append(a.following, func(ctx context.Context) { authorities.Run(ctx, 1) })
	if a.authorities == nil {
		a.authorities = authorities
	} else {
		a.authorities = dynamiccertificates.NewUnionCAContentProvider(a.authorities, authorities)
	}
	return authorities
}

// reviewClient returns a client for reviews, nil when there is no cluster to
// ask.
func reviewClient(kubeconfig, agent string) (kubernetes.Interface, error) {
	var config *rest.Config
	var err error
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	} else if config, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	config.UserAgent = agent
	config.ContentType = runtime.ContentTypeJSON // as kube-controller-manager
	config.Timeout = reviewTime
	// As kube-controller-manager: answers wait for it. A cache and the number of
	// connections bound the requests before this does.
	config.QPS, config.Burst = 200, 400
	return kubernetes.NewForConfig(config)
}
