package programtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run is a program's main function.
type Run func(ctx context.Context, args []string, out, diagnostics io.Writer) int

// WantRefused wants that each call ends at once with an exit code and prints
// nothing. It says in a line or two what is wrong and where to find help. The
// keys are parts of what is said, the values are arguments.
func WantRefused(t *testing.T, run Run, code int, calls map[string][]string) {
	t.Helper()
	for says, args := range calls {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var out, diagnostics bytes.Buffer
			require.Equal(t, code, run(ctx, args, &out, &diagnostics), "%s", &diagnostics)
			require.NoError(t, ctx.Err(), "it took too long")
			require.Empty(t, out.String())
			require.Contains(t, diagnostics.String(), says)
			require.LessOrEqual(t, strings.Count(diagnostics.String(), "\n"), 2, "%s", &diagnostics)
		})
	}
}

// Help returns what --help prints. It wants exit code 0, exit codes that are
// explained, and nothing on standard error.
func Help(t *testing.T, run Run) string {
	t.Helper()
	var out, diagnostics bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, &out, &diagnostics))
	require.Empty(t, diagnostics.String())
	require.Contains(t, out.String(), "Exit codes")
	return out.String()
}

// Manifest returns manifest.yaml and the flags that it gives to the program.
func Manifest(t *testing.T) (text string, args []string) {
	t.Helper()
	written, err := os.ReadFile("manifest.yaml")
	require.NoError(t, err)
	for line := range strings.Lines(string(written)) {
		if arg, ok := strings.CutPrefix(strings.TrimSpace(line), "- --"); ok {
			args = append(args, "--"+arg)
		}
	}
	return string(written), args
}

// WantNoRetryAfter wants that wrap takes the header Retry-After from answers:
// client-go would sleep in a worker for as long as it says.
func WantNoRetryAfter(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	client := &http.Client{Transport: wrap(http.DefaultTransport)}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Empty(t, response.Header.Get("Retry-After"))
}
