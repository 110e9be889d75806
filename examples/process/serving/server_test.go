package serving

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// C5: pages are for callers that are known and permitted, health is for all.
func TestC5CallersAreAnsweredByWhatTheyMay(t *testing.T) {
	c := newCluster(t)
	url := start(t, c.asking(t), false, pages())
	for _, test := range []struct {
		path, token string
		want        int
		says        string
	}{
		{"/page", "", 401, "401 unauthorized: no valid token or client certificate\n"},
		{"/page", "wrong", 401, "401 unauthorized: no valid token or client certificate\n"},
		{"/page", "token-stranger", 403, "403 forbidden: user \"stranger\" may not get path \"/page\"\n"},
		{"/page", "token-reader", 200, "ok"},
		{"/nowhere", "token-reader", 403, "403 forbidden: user \"reader\" may not get path \"/nowhere\"\n"},
		{"/healthz", "", 200, "ok"},
		{"/healthz", "wrong", 200, "ok"},
		{"/open/page", "", 200, "ok"},
	} {
		for range 2 {
			headers := []string{}
			if test.token != "" {
				headers = []string{"Authorization", "Bearer " + test.token}
			}
			status, text := ask(t, newCaller(), url+test.path, headers...)
			require.Equal(t, test.want, status, test)
			require.Equal(t, test.says, text)
		}
	}
	require.Equal(t, 3, c.counted("token"), "answers about tokens hold")
	require.Equal(t, 3, c.counted("access"), "and those about what a caller may")
	status, text := ask(t, newCaller(), url+"/healthz/../page")
	require.Equal(t, 401, status, text)
}

// C5: no spelling of a path that is closed passes as one that is open.
func TestC5SpellingOpensNoPath(t *testing.T) {
	url := start(t, newCluster(t).asking(t), false, pages())
	for _, path := range []string{
		"/open/../page", "/open//../page", "/open/%2e%2e/page", "/open/..%2fpage", "//page", "/./page", "/page/",
		"/open/..//page",
	} {
		connection, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		_, err = fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
		require.NoError(t, err)
		answer, err := io.ReadAll(connection)
		require.NoError(t, err)
		require.NotRegexp(t, "^HTTP/1.1 200", string(answer), path)
		require.NoError(t, connection.Close())
	}
}

// C5: probes succeed while the API server is down, pages do not.
func TestC5HealthDoesNotNeedTheAPIServer(t *testing.T) {
	c := newCluster(t)
	url := start(t, c.asking(t), false, pages())
	// A watch that began again between the two below would hold Close up for as
	// long as it lasts.
	require.NoError(t, c.Listener.Close())
	c.CloseClientConnections()
	c.Close()
	status, _ := ask(t, newCaller(), url+"/healthz", "Authorization", "Bearer token-reader")
	require.Equal(t, 200, status)
	status, _ = ask(t, newCaller(), url+"/page", "Authorization", "Bearer token-reader")
	require.Equal(t, 401, status)
}

// C5: a client certificate names a user when its authority is the one of the
// file or of the cluster. Headers do when a proxy's certificate comes with
// them.
func TestC5CertificatesNameCallers(t *testing.T) {
	users, proxies, others := newAuthority(t), newAuthority(t), newAuthority(t)
	told := newCluster(t)
	told.authorities = map[string]string{
		"client-ca-file":                     users.pem,
		"requestheader-client-ca-file":       proxies.pem,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		"requestheader-allowed-names":        `["front"]`,
	}
	silent := newCluster(t)
	inFiles := silent.asking(t)
	inFiles.Authentication.ClientCAFile = write(t, "users.crt", users.pem)
	inFiles.Authentication.RequestHeader.ClientCAFile = write(t, "proxies.crt", proxies.pem)
	inFiles.Authentication.RequestHeader.AllowedNames = []string{"front"}
	for name, f := range map[string]*commandline.Serving{"cluster": told.asking(t), "files": inFiles} {
		url := start(t, f, false, pages())
		require.Eventually(t, func() bool { // what the cluster says is followed
			status, _ := ask(t, users.caller("reader"), url+"/page")
			return status == 200
		}, 2*time.Minute, 10*time.Millisecond, name)
		require.Eventually(t, func() bool {
			status, _ := ask(t, proxies.caller("front"), url+"/page", "X-Remote-User", "reader")
			return status == 200
		}, 2*time.Minute, 10*time.Millisecond, name)
		for _, test := range []struct {
			caller *http.Client
			header string
			want   int
		}{
			{users.caller("stranger"), "", 403},
			{others.caller("reader"), "", 401},
			{proxies.caller("reader"), "", 401},
			{proxies.caller("front"), "stranger", 403},
			{proxies.caller("back"), "reader", 401},
			{users.caller("stranger"), "reader", 403},
			{others.caller("front"), "reader", 401},
			{newCaller(), "reader", 401},
		} {
			status, text := ask(t, test.caller, url+"/page", "X-Remote-User", test.header)
			require.Equal(t, test.want, status, "%s: %v: %s", name, test, text)
		}
	}
}

// C5: when the cluster changes which authorities to trust, so do the answers.
func TestC5AuthoritiesRotate(t *testing.T) {
	old, next := newAuthority(t), newAuthority(t)
	c := newCluster(t)
	say := func(a *authority, header string) map[string]string {
		return map[string]string{
			"client-ca-file": a.pem, "requestheader-client-ca-file": a.pem,
			"requestheader-username-headers": `["` + header + `"]`, "requestheader-allowed-names": `["front"]`,
		}
	}
	c.authorities = say(old, "X-Old")
	url := start(t, c.asking(t), false, pages())
	answers := func(a *authority, name, header string, want int) {
		t.Helper()
		require.Eventually(t, func() bool {
			status, _ := ask(t, a.caller(name), url+"/page", header, "reader")
			return status == want
		}, 2*time.Minute, 10*time.Millisecond)
	}
	answers(old, "reader", "X-None", 200)
	answers(old, "front", "X-Old", 200)
	answers(next, "reader", "X-None", 401)
	c.change(say(next, "X-Next"))
	answers(next, "reader", "X-None", 200)
	answers(next, "front", "X-Next", 200)
	answers(next, "front", "X-Old", 403)
	answers(old, "reader", "X-None", 401)
}

// C5: the group that may do everything is not asked about.
func TestC5AdministratorsMayReadAll(t *testing.T) {
	proxies := newAuthority(t)
	f := flags(t)
	f.Authentication.RequestHeader.ClientCAFile = write(t, "proxies.crt", proxies.pem)
	url := start(t, f, false, pages())
	status, _ := ask(t, proxies.caller("p"), url+"/page", "X-Remote-User", "a", "X-Remote-Group", "system:masters")
	require.Equal(t, 200, status)
	status, _ = ask(t, proxies.caller("p"), url+"/page", "X-Remote-User", "a", "X-Remote-Group", "others")
	require.Equal(t, 403, status)
}

// C5: without an API server to ask no page is answered.
func TestC5WithoutReviewsOnlyHealthIsAnswered(t *testing.T) {
	url := start(t, flags(t), false, pages())
	status, _ := ask(t, newCaller(), url+"/page", "Authorization", "Bearer token-reader")
	require.Equal(t, 401, status)
	status, _ = ask(t, newCaller(), url+"/healthz")
	require.Equal(t, 200, status)
}

// C5: a cluster that does not say which authorities to trust is a failure,
// unless the flags do without.
func TestC5FailedLookup(t *testing.T) {
	c := newCluster(t)
	c.authorities = nil
	f := c.asking(t)
	_, err := NewServer(t.Context(), ServerConfig{Serving: f, Handler: pages()})
	require.ErrorContains(t, err, "extension-apiserver-authentication-reader")
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", f.SecurePort))
	require.NoError(t, err, "nothing listens after a failure")
	require.NoError(t, listener.Close())
	for _, without := range []func(*commandline.Authentication){
		func(a *commandline.Authentication) { a.TolerateLookupFailure = true },
		func(a *commandline.Authentication) { a.SkipLookup = true },
	} {
		f := c.asking(t)
		without(&f.Authentication)
		url := start(t, f, false, pages())
		status, _ := ask(t, newCaller(), url+"/page", "Authorization", "Bearer token-reader")
		require.Equal(t, 200, status, "tokens need no authorities")
	}
}

// Flags that name files which cannot be read are told by their names.
func TestFilesThatCannotBeRead(t *testing.T) {
	broken := write(t, "broken", "x")
	for says, set := range map[string]func(*commandline.Serving){
		"--tls-cert-file: ": func(f *commandline.Serving) {
			f.TLSCertFile, f.TLSPrivateKeyFile = broken,
				broken
		},
		"--client-ca-file: ": func(f *commandline.Serving) { f.Authentication.ClientCAFile = broken },
		"--requestheader-client-ca-file: ": func(
			f *commandline.Serving) {
			f.Authentication.RequestHeader.ClientCAFile = broken
		},
		"--authentication-kubeconfig: ": func(f *commandline.Serving) { f.Authentication.Kubeconfig = broken },
		"--authorization-kubeconfig: ":  func(f *commandline.Serving) { f.Authorization.Kubeconfig = broken },
		"--authorization-always-allow-path": func(
			f *commandline.Serving) {
			f.Authorization.AlwaysAllowPaths = []string{"/*/a"}
		},
	} {
		f := flags(t)
		set(f)
		_, err := NewServer(t.Context(), ServerConfig{Serving: f, Handler: pages()})
		require.ErrorContains(t, err, says)
	}
}

// C5: a certificate that changes in its file is served without a restart.
func TestC5CertificateRotates(t *testing.T) {
	a := newAuthority(t)
	f := flags(t)
	certificate, key := a.sign("first")
	f.TLSCertFile, f.TLSPrivateKeyFile = write(t, "tls.crt", string(certificate)), write(t, "tls.key", string(key))
	url := start(t, f, false, pages())
	shown := func() string {
		connection, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, connection.Close()) }()
		return connection.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	require.Equal(t, "first", shown())
	certificate, key = a.sign("second")
	require.NoError(t, os.WriteFile(f.TLSCertFile, certificate, 0o600))
	require.NoError(t, os.WriteFile(f.TLSPrivateKeyFile, key, 0o600))
	require.Eventually(t, func() bool { return shown() == "second" }, 2*time.Minute, 10*time.Millisecond)
}

// The flags about TLS decide what a connection may use. HTTP/2 is not offered.
func TestFlagsDecideTLS(t *testing.T) {
	f := flags(t)
	f.TLSCipherSuites = []string{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}
	url := start(t, f, false, pages())
	dial := func(url string, security *tls.Config) (tls.ConnectionState, error) {
		security.InsecureSkipVerify, security.NextProtos = true, []string{"h2", "http/1.1"}
		connection, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), security)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		return connection.ConnectionState(), connection.Close()
	}
	state, err := dial(url, &tls.Config{})
	require.NoError(t, err)
	require.Equal(t, uint16(tls.VersionTLS13), state.Version)
	require.Equal(t, "http/1.1", state.NegotiatedProtocol)
	require.Contains(t, state.PeerCertificates[0].DNSNames, "localhost", "it is self-signed")
	state, err = dial(url, &tls.Config{MaxVersion: tls.VersionTLS12})
	require.NoError(t, err)
	require.Equal(t, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, state.CipherSuite)
	_, err = dial(url,
		&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}})
	require.Error(t, err)
	_, err = dial(url, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	require.Error(t, err, "the default is TLS 1.2")

	f = flags(t)
	f.TLSMinVersion = "VersionTLS13"
	_, err = dial(start(t, f, false, pages()), &tls.Config{MaxVersion: tls.VersionTLS12})
	require.Error(t, err)
}

// C5: plain HTTP is for this machine only.
func TestC5PlainIsOnLoopbackOnly(t *testing.T) {
	for _, ip := range []net.IP{nil, net.IPv4zero, net.IPv6unspecified, net.IPv4(127, 0, 0, 1)} {
		f := flags(t)
		f.BindAddress = ip
		url := start(t, f, true, pages())
		require.Contains(t, url, "http://127.0.0.1:")
		status, _ := ask(t, http.DefaultClient, url+"/page")
		require.Equal(t, 200, status)
	}
	f := flags(t)
	f.BindAddress = net.IPv4(10, 0, 0, 7)
	_, err := NewServer(t.Context(), ServerConfig{Serving: f, Handler: pages(), Plain: true})
	require.EqualError(t, err, "--bind-address is 10.0.0.7, want a loopback address: without a cluster it is plain HTTP")
}

// Port 0 serves nothing, and needs no cluster to ask.
func TestPortZeroServesNothing(t *testing.T) {
	f := flags(t)
	f.SecurePort, f.Authentication.Kubeconfig = 0, "/does/not/exist"
	s, err := NewServer(t.Context(), ServerConfig{Serving: f, Handler: pages()})
	require.NoError(t, err)
	require.Nil(t, s.Addr())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.Run(ctx))
}

// C5: a caller cannot send headers without end, or none.
func TestC5RequestsAreBounded(t *testing.T) {
	url := start(t, flags(t), true, pages())
	status, _ := ask(t, newCaller(), url+"/page", "X", strings.Repeat("x", maxHeaderBytes/2))
	require.Equal(t, 200, status)
	large, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/page", nil)
	require.NoError(t, err)
	large.Header.Set("X", strings.Repeat("x", 2*maxHeaderBytes))
	// The connection may be closed before all is sent, and the answer lost by
	// that.
	if response, err := newCaller().Do(large); err == nil {
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
		require.NoError(t, response.Body.Close())
	}
	s, err := NewServer(t.Context(), ServerConfig{Serving: flags(t), Handler: pages(), Plain: true})
	require.NoError(t, err)
	require.NoError(t, s.listener.Close())
	for _, limit := range []time.Duration{s.http.ReadHeaderTimeout, s.http.ReadTimeout, s.http.WriteTimeout,
		s.http.IdleTimeout} {
		require.Positive(t, limit)
		require.LessOrEqual(t, limit, time.Minute)
	}
	require.Greater(t, s.http.WriteTimeout, pageTime, "a page that is collected late can still be written")
}

// A caller that is slow does not keep the program from ending.
func TestServerEndsWhileACallerWaits(t *testing.T) {
	f, entered, gone := flags(t), make(chan struct{}), make(chan struct{})
	s, err := NewServer(t.Context(), ServerConfig{Serving: f, Plain: true, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, request *http.Request) {
			close(entered)
			<-request.Context().Done()
			close(gone)
		})})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	connection, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close()) }()
	_, err = fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	<-entered
	stop()
	require.NoError(t, <-ended)
	<-gone
}
