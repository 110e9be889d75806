package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kubeconfig writes one for an API server, with what says the user.
func kubeconfig(t *testing.T, url, user string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(name, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: %s}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, url, user), 0o600))
	return name
}

// apiServer answers every request alike, and counts them.
func apiServer(t *testing.T, status int, answer string) (url string, requests *[]*http.Request) {
	t.Helper()
	requests = &[]*http.Request{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests = append(*requests, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

const emptyList = `{"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []}`

// What the cluster refuses or is too far away for is a failure, not a wrong
// call. Only a missing right lets the other lists be tried: they name theirs.
func TestAClusterThatCannotBeListed(t *testing.T) {
	status := func(code int, reason string) string {
		return fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": %q, `+
			`"code": %d}`, reason, code)
	}
	for name, test := range map[string]struct {
		status         int
		answer, says   string
		code, requests int
	}{
		"no right": {403, status(403, "Forbidden"), "missing right: list on jobs.batch", exitFailed, 9},
		"no user":  {401, status(401, "Unauthorized"), "list nodes: no", exitFailed, 1},
		"broken":   {500, status(500, "InternalError"), "list nodes: no", exitFailed, 1},
		"empty":    {200, emptyList, "there are no nodes and no pods", exitUsage, 9},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := apiServer(t, test.status, test.answer)
			code, out, diagnostics := call(t, "", "--kubeconfig", kubeconfig(t, url, "{token: x}"))
			require.Equal(t, test.code, code, diagnostics)
			require.Empty(t, out)
			require.Contains(t, diagnostics, test.says)
			require.Len(t, *requests, test.requests)
		})
	}
}

func TestAClusterThatIsNotThere(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	code, _, diagnostics := call(t, "", "blast", "--kubeconfig", kubeconfig(t, server.URL, "{token: x}"))
	require.Equal(t, exitFailed, code)
	require.Equal(t, 1, strings.Count(diagnostics, "connection refused"), diagnostics)
	config, err := restConfig(kubeconfig(t, server.URL, "{token: x}"))
	require.NoError(t, err)
	require.Equal(t, requestTimeout, config.Timeout, "that of an address that never answers")

	code, _, diagnostics = call(t, "", "--kubeconfig", file(t, "clusters: 3"))
	require.Equal(t, exitUsage, code, "it is no kubeconfig")
	require.Contains(t, diagnostics, "--kubeconfig ")
}

// Ctrl-C while the cluster is listed is no wrong call either.
func TestAnInterruptedList(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	}))
	defer server.Close()
	var out, diagnostics bytes.Buffer
	code := run(ctx, []string{"--kubeconfig", kubeconfig(t, server.URL, "{token: x}")}, nil, &out, &diagnostics)
	require.Equal(t, exitFailed, code)
	require.Regexp(t, `^outage: --kubeconfig \S+: interrupted before all was listed\n$`, diagnostics.String())
	require.Empty(t, out.String())
}

// A kubeconfig that names the OIDC provider, as kubectl's may, is taken.
func TestTheUserOfAnIdentityProvider(t *testing.T) {
	url, requests := apiServer(t, 200, emptyList)
	part := base64.RawURLEncoding.EncodeToString
	token := part([]byte(`{}`)) + "." + part(fmt.Appendf(nil, `{"exp": %d}`, time.Now().Add(time.Hour).Unix())) + ".x"
	_, _, diagnostics := call(t, "", "--kubeconfig", kubeconfig(t, url, fmt.Sprintf("{auth-provider: {name: oidc, "+
		"config: {idp-issuer-url: 'https://example.com', client-id: me, id-token: %s}}}", token)))
	require.NotEmpty(t, *requests, diagnostics)
	require.Equal(t, "Bearer "+token, (*requests)[0].Header.Get("Authorization"))
}

func TestProgressOfLists(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, terminal: true}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p.listed(begun, "nodes", 0, 0)
	p.listed(begun.Add(longRun-1), "nodes", 500, 1000)
	require.Empty(t, out.String())
	p.listed(begun.Add(longRun), "pods", 0, 0)
	require.Equal(t, "\r["+strings.Repeat(".", barWidth)+"] listing pods\x1b[K", out.String())
	out.Reset()
	p.listed(begun.Add(2*longRun), "pods", 500, 1000)
	require.Equal(t, "\r["+strings.Repeat("#", 15)+strings.Repeat(".", 15)+"] listing pods, 500 of 1000\x1b[K",
		out.String())
}
