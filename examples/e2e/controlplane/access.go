package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The administrator: the group system:masters may do everything, whatever RBAC
// says.
const (
	adminUser  = "controlplane-admin"
	adminGroup = "system:masters"
)

// RESTConfig returns the administrator's access, as a copy that the caller may
// change. It has no client-side rate limit (QPS is -1): a test that wants one
// sets it.
func (cp *ControlPlane) RESTConfig() *rest.Config {
	return rest.CopyConfig(cp.admin)
}

// Kubeconfig is the path of a kubeconfig file with the administrator's access.
// Such a file carries no rate limit, so its reader gets client-go's default or
// its own.
func (cp *ControlPlane) Kubeconfig() string {
	return cp.file("admin.kubeconfig")
}

// UserConfig returns access as the named user in the groups, by a client
// certificate made for it. The user may do what RBAC grants to that name or the
// groups, at first next to nothing. Any name works, also that of a service
// account that does not exist: system:serviceaccount:<namespace>:<name>.
func (cp *ControlPlane) UserConfig(name string, groups ...string) (*rest.Config, error) {
	if name == "" {
		return nil, errors.New("a user needs a name")
	}
	config := cp.anonymous()
	var err error
	config.CertData, config.KeyData, err = cp.authority.client(name, groups)
	return config, err
}

// ServiceAccountConfig returns access as a service account, by a token that the
// API server issues for a day. The account must exist: without
// kube-controller-manager not even "default" does.
func (cp *ControlPlane) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return nil, err
	}
	seconds := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("a token for the service account %s/%s: %w", namespace, name, err)
	}
	config := cp.anonymous()
	config.BearerToken = token.Status.Token
	return config, nil
}

// WriteKubeconfig writes a kubeconfig file with the access that config has,
// which must be one of this control plane's, and returns its path. The file
// goes with the control plane's data.
func (cp *ControlPlane) WriteKubeconfig(config *rest.Config) (string, error) {
	file, err := os.CreateTemp(cp.dir, "user-*.kubeconfig")
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return file.Name(), writeKubeconfig(config, file.Name())
}

func writeKubeconfig(config *rest.Config, path string) error {
	const name = "controlplane"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
	}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// anonymous is access that proves the server to the client, and no client to
// the server.
func (cp *ControlPlane) anonymous() *rest.Config {
	return &rest.Config{
		Host:            cp.host,
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.authority.pem},
		QPS:             -1,
	}
}
