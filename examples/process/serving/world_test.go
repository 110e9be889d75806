package serving

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// authority signs certificates for tests.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := template("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	require.NoError(t, err)
	a.certificate, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// sign returns a certificate of that name and its key.
func (a *authority) sign(name string) (certificate, key []byte) {
	a.t.Helper()
	private := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, template(name), a.certificate, private.Public(), a.key)
	require.NoError(a.t, err)
	text, err := x509.MarshalECPrivateKey(private)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})
}

// caller returns a client with a certificate of that name.
func (a *authority) caller(name string) *http.Client {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.sign(name))
	require.NoError(a.t, err)
	return newCaller(pair)
}

// newCaller returns a client that takes any certificate of the server, and
// shows its own although the server names other authorities.
func newCaller(pairs ...tls.Certificate) *http.Client {
	security := &tls.Config{InsecureSkipVerify: true}
	if len(pairs) > 0 {
		security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pairs[0], nil }
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: security, DisableKeepAlives: true}}
}

// cluster is an API server that reviews. The token NAME-token is of user NAME,
// and the user "reader" may get /page.
type cluster struct {
	*httptest.Server
	mu      sync.Mutex
	reviews map[string]int
	// authorities is the data of the ConfigMap, nil when it may not be read.
	// changed is closed when it has changed for the watches that there are.
	authorities map[string]string
	changed     chan struct{}
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{reviews: map[string]int{}, authorities: map[string]string{}, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", c.reviewToken)
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", c.reviewAccess)
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", c.getAuthorities)
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps", c.listAuthorities)
	c.Server = httptest.NewServer(mux)
	t.Cleanup(func() { c.CloseClientConnections(); c.Close() })
	return c
}

func (c *cluster) count(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews[kind]++
}

func (c *cluster) counted(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reviews[kind]
}

func answerJSON(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(object); err != nil {
		return // the client has gone
	}
}

func (c *cluster) reviewToken(w http.ResponseWriter, request *http.Request) {
	c.count("token")
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var name string
	if _, err := fmt.Sscanf(review.Spec.Token, "token-%s", &name); err == nil {
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true,
			User: authenticationv1.UserInfo{Username: name}}
	}
	answerJSON(w, review)
}

func (c *cluster) reviewAccess(w http.ResponseWriter, request *http.Request) {
	c.count("access")
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked := review.Spec.NonResourceAttributes
	review.Status.Allowed = review.Spec.User == "reader" && asked != nil &&
		*asked == authorizationv1.NonResourceAttributes{Path: "/page", Verb: "get"}
	answerJSON(w, review)
}

func (c *cluster) configMap() *corev1.ConfigMap {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.authorities == nil {
		return nil
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication",
			ResourceVersion: "1"},
		Data: c.authorities,
	}
}

func (c *cluster) getAuthorities(w http.ResponseWriter, _ *http.Request) {
	if found := c.configMap(); found != nil {
		answerJSON(w, found)
		return
	}
	w.WriteHeader(http.StatusForbidden)
}

func (c *cluster) listAuthorities(w http.ResponseWriter, request *http.Request) {
	found := c.configMap()
	switch {
	case found == nil:
		w.WriteHeader(http.StatusForbidden)
	case request.URL.Query().Get("watch") != "" && request.URL.Query().Get("sendInitialEvents") != "":
		http.Error(w, "no streaming lists", http.StatusUnprocessableEntity)
	case request.URL.Query().Get("watch") != "":
		c.watchAuthorities(w, request)
	default:
		answerJSON(w, corev1.ConfigMapList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.ConfigMap{*found},
		})
	}
}

// watchAuthorities tells of one change.
func (c *cluster) watchAuthorities(w http.ResponseWriter, request *http.Request) {
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	select {
	case <-c.changed:
		found := c.configMap()
		found.ResourceVersion = "2"
		answerJSON(w, map[string]any{"type": "MODIFIED", "object": found})
		_ = http.NewResponseController(w).Flush()
	case <-request.Context().Done():
	}
	<-request.Context().Done()
}

// change changes what the cluster says.
func (c *cluster) change(authorities map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.authorities = authorities
	close(c.changed)
}

// kubeconfig writes how to reach the cluster.
func (c *cluster) kubeconfig(t *testing.T) string {
	t.Helper()
	return write(t, "kubeconfig", fmt.Sprintf(`{"kind": "Config", "apiVersion": "v1", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c"}}]}`, c.URL))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// flags are the defaults of the command line, on a free port of this machine.
func flags(t *testing.T) *commandline.Serving {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	address, ok := listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return &commandline.Serving{
		SecurePort: address.Port, BindAddress: net.IPv4(127, 0, 0, 1),
		Authentication: commandline.Authentication{CacheTTL: time.Minute, RequestHeader: commandline.RequestHeader{
			UsernameHeaders: []string{"x-remote-user"}, GroupHeaders: []string{"x-remote-group"},
		}},
		Authorization: commandline.Authorization{
			AlwaysAllowPaths: []string{"/healthz", "/open/*"}, AllowTTL: time.Minute, DenyTTL: time.Minute,
		},
	}
}

// asking are flags that ask the cluster about callers.
func (c *cluster) asking(t *testing.T) *commandline.Serving {
	t.Helper()
	f := flags(t)
	f.Authentication.Kubeconfig = c.kubeconfig(t)
	f.Authorization.Kubeconfig = f.Authentication.Kubeconfig
	return f
}

// pages answer "ok" at each path.
func pages() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/page", "/healthz", "/open/page"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	}
	return mux
}

// start runs a server until the test ends, and returns its URL.
func start(t *testing.T, f *commandline.Serving, plain bool, handler http.Handler) string {
	t.Helper()
	s, err := NewServer(t.Context(), ServerConfig{Serving: f, Handler: handler, Plain: plain, UserAgent: "tester"})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	scheme := "https://"
	if plain {
		scheme = "http://"
	}
	return scheme + s.Addr().String()
}

// ask returns the status and the text of an answer. Headers are names and
// values.
func ask(t *testing.T, caller *http.Client, url string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := caller.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(text)
}
