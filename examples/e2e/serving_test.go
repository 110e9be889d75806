package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// answers returns nil when the program answers the administrator 200 on a path.
func (c *controller) answers(path string) error {
	_, err := c.get(path)
	return err
}

func (c *controller) get(path string) (string, error) {
	status, body, err := c.ask(c.caller, path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, strings.TrimSpace(body))
	}
	return body, err
}

// ask returns what the program answers a caller.
func (c *controller) ask(caller *http.Client, path string) (status int, body string, err error) {
	response, err := caller.Get("https://127.0.0.1:" + c.port + path)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), errors.Join(err, response.Body.Close())
}

// probe asks without credentials, as a kubelet does.
func (c *cluster) probe(url string) error {
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", response.StatusCode, body)
	}
	return errors.Join(err, response.Body.Close())
}

// callerWith returns a client that shows what the access has, a token or a
// certificate, to a program whose own certificate is self-signed.
func (c *cluster) callerWith(config *rest.Config) *http.Client {
	c.t.Helper()
	security := &tls.Config{InsecureSkipVerify: true}
	if len(config.CertData) > 0 {
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		require.NoError(c.t, err)
		security.Certificates = []tls.Certificate{pair}
	}
	// Each request has a connection of its own, with the certificate of that time.
	var transport http.RoundTripper = &http.Transport{TLSClientConfig: security, DisableKeepAlives: true}
	if config.BearerToken != "" {
		transport = withToken{transport, config.BearerToken}
	}
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

type withToken struct {
	http.RoundTripper
	token string
}

func (t withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+t.token)
	return t.RoundTripper.RoundTrip(request)
}

// account creates a service account and returns a caller with its token.
func (c *cluster) account(name string) *http.Client {
	c.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	_, err := c.client.CoreV1().ServiceAccounts("default").Create(c.t.Context(), account, metav1.CreateOptions{})
	require.NoError(c.t, err)
	config, err := c.plane.ServiceAccountConfig(c.t.Context(), "default", name)
	require.NoError(c.t, err)
	return c.callerWith(config)
}

// reader returns a caller that has the role of a program's manifest for its
// pages.
func (c *cluster) reader(name string) *http.Client {
	c.t.Helper()
	caller := c.account(name + "-reader")
	_, err := c.client.RbacV1().ClusterRoleBindings().Create(c.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name + ":reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name + ":pages"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: name + "-reader"}},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return caller
}

// C5: each program, with the rights of its manifest, answers its pages to
// callers that may read them, and probes to all, over HTTPS.
func TestC5PagesAreAnsweredToCallersThatMayReadThem(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 3})
	for name, pages := range map[string][]string{
		"nodelifecycle": {"/metrics", "/pending", "/doubt"},
		"tainteviction": {"/metrics", "/pending"},
		"daemonset":     {"/metrics", "/daemonsets"},
		"scheduler":     {"/metrics", "/pending", "/evictions"},
	} {
		c.applyManifest(name)
		own, err := c.plane.ServiceAccountConfig(t.Context(), metav1.NamespaceSystem, name)
		require.NoError(t, err)
		kubeconfig, err := c.plane.WriteKubeconfig(own)
		require.NoError(t, err)
		running := c.launchProgram(name, kubeconfig)
		unknown := c.callerWith(&rest.Config{})
		c.eventually(name+" is ready, and says so without a token", func(*witness) error {
			status, body, err := running.ask(unknown, "/readyz")
			if err == nil && status != http.StatusOK {
				err = errors.New(body)
			}
			return err
		})
		wrong := c.callerWith(&rest.Config{BearerToken: "wrong"})
		reader, stranger := c.reader(name), c.account(name+"-stranger")
		jane, err := c.plane.UserConfig("jane")
		require.NoError(t, err)
		for _, page := range pages {
			for _, ask := range []struct {
				caller *http.Client
				title  string
				want   int
			}{
				{reader, "a token that may", http.StatusOK},
				{stranger, "a token that may not", http.StatusForbidden},
				{unknown, "no token", http.StatusUnauthorized},
				{wrong, "a wrong token", http.StatusUnauthorized},
				{running.caller, "the administrator's certificate", http.StatusOK},
				{c.callerWith(jane), "a certificate that may not", http.StatusForbidden},
			} {
				c.eventually(fmt.Sprintf("%s%s with %s: %d", name, page, ask.title, ask.want), func(*witness) error {
					status, body, err := running.ask(ask.caller, page)
					if err == nil && status != ask.want {
						err = fmt.Errorf("%d: %s", status, body)
					}
					return err
				})
			}
		}
		for _, caller := range []*http.Client{unknown, wrong} {
			status, body, err := running.ask(caller, "/healthz")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, body)
		}
		c.stop(running)
		requests, err := c.plane.Requests(context.Background(),
			controlplane.Filter{User: "system:serviceaccount:kube-system:" + name})
		require.NoError(t, err)
		reviews := map[string]bool{}
		for _, r := range requests {
			reviews[r.Resource] = true
			require.NotEqual(t, http.StatusForbidden, r.Code, "forbidden: %s %s/%s %s", r.Verb, r.Resource, r.Subresource,
				r.Object())
		}
		for _, resource := range []string{"tokenreviews", "subjectaccessreviews", "configmaps"} {
			require.True(t, reviews[resource], "the API server has seen %s of %s", resource, name)
		}
	}
}

// C5: without a kubeconfig for reviews no caller but the administrator's group
// could be told apart, and none is: probes are answered, pages are not.
func TestC5WithoutReviewsPagesAreClosed(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 3})
	running := c.launch(c.plane.Kubeconfig(), "--authentication-kubeconfig=", "--authorization-kubeconfig=")
	c.eventually("the controller is ready", func(*witness) error { return running.answers("/readyz") })
	for _, caller := range []*http.Client{running.caller, c.account("a")} {
		status, body, err := running.ask(caller, "/metrics")
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, status, body)
	}
}

// C5: a program that may not look up which authorities to trust says so and
// ends.
func TestC5FailedLookupEndsTheProgram(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 3})
	config, err := c.plane.UserConfig("jane")
	require.NoError(t, err)
	kubeconfig, err := c.plane.WriteKubeconfig(config)
	require.NoError(t, err)
	ended := c.launch(c.plane.Kubeconfig(), "--authentication-kubeconfig="+kubeconfig)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.Error(t, ended.Wait(ctx))
	require.NoError(t, ctx.Err(), "it goes on")
	require.Contains(t, ended.LogTail(20), "extension-apiserver-authentication-reader")
	running := c.launch(c.plane.Kubeconfig(), "--authentication-kubeconfig="+kubeconfig,
		"--authentication-tolerate-lookup-failure")
	c.eventually("the controller is ready", func(*witness) error { return running.answers("/readyz") })
}

// C5: a certificate that changes in its file is served without a restart.
func TestC5CertificateRotates(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 3})
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write := func(host string) {
		t.Helper()
		text, private, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(certificate, text, 0o600))
		require.NoError(t, os.WriteFile(key, private, 0o600))
	}
	write("first")
	running := c.startController("--tls-cert-file="+certificate, "--tls-private-key-file="+key)
	served := func(host string) func(*witness) error {
		return func(*witness) error {
			text, err := os.ReadFile(certificate)
			if err != nil {
				return err
			}
			block, _ := pem.Decode(text)
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return err
			}
			connection, err := tls.Dial("tcp", "127.0.0.1:"+running.port, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return err
			}
			shown := connection.ConnectionState().PeerCertificates[0]
			if err := connection.Close(); err != nil {
				return err
			}
			if !shown.Equal(leaf) || shown.VerifyHostname(host) != nil {
				return fmt.Errorf("it shows the certificate of %v", shown.DNSNames)
			}
			return nil
		}
	}
	c.eventually("the first certificate is served", served("first"))
	write("second")
	c.eventually("the second certificate is served", served("second"))
	require.True(t, running.Running())
	require.NoError(t, running.answers("/metrics"))
	c.stop(running)
}
