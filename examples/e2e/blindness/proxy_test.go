package blindness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// proxied returns a proxy, and a client that goes through it. On the server
// behind it watches send a line for each string of the channel.
func proxied(t *testing.T, lines <-chan string) (*proxy, *http.Client, string) {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprintf(w, "%s for %s", r.URL.Path, r.Header.Get("Authorization"))
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for {
			select {
			case line := <-lines:
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, BearerToken: "subject"}
	config.Insecure = true
	p, err := startProxy(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.stop()) })
	through := p.access(&rest.Config{})
	client, err := rest.HTTPClientFor(through)
	require.NoError(t, err)
	return p, client, through.Host
}

func get(t *testing.T, client *http.Client, url string) io.Reader {
	t.Helper()
	response, err := client.Get(url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, 2, response.ProtoMajor)
	return response.Body
}

func TestTheProxyDelaysWatchesAndNothingElse(t *testing.T) {
	const delay = 2 * time.Second
	lines := make(chan string)
	p, client, host := proxied(t, lines)
	p.delay.Store(int64(delay))

	begun := time.Now()
	body, err := io.ReadAll(get(t, client, host+"/api/v1/nodes"))
	require.NoError(t, err)
	require.Equal(t, "/api/v1/nodes for Bearer subject", string(body))
	require.Less(t, time.Since(begun), delay)

	events := bufio.NewReader(get(t, client, host+"/api/v1/nodes?watch=true"))
	sent := time.Now()
	lines <- "first"
	lines <- "second"
	for _, want := range []string{"first", "second"} {
		line, err := events.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSpace(line))
		require.GreaterOrEqual(t, time.Since(sent), delay)
	}
}

func TestTheProxyMakesCallsSlowAndNoWatch(t *testing.T) {
	const latency = 2 * time.Second
	lines := make(chan string, 1)
	p, client, host := proxied(t, lines)
	p.latency.Store(int64(latency))

	begun := time.Now()
	_, err := io.ReadAll(get(t, client, host+"/api/v1/nodes"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begun), latency)

	begun = time.Now()
	lines <- "one"
	_, err = bufio.NewReader(get(t, client, host+"/api/v1/nodes?watch=true")).ReadString('\n')
	require.NoError(t, err)
	require.Less(t, time.Since(begun), latency)

	ctx, stop := context.WithTimeout(t.Context(), latency/10)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/api/v1/nodes", nil)
	require.NoError(t, err)
	_, err = client.Do(request) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTheProxyCutsWatchesAndTheNextOnePasses(t *testing.T) {
	lines := make(chan string)
	p, client, host := proxied(t, lines)
	events := bufio.NewReader(get(t, client, host+"/api/v1/nodes?watch=1"))
	lines <- "one"
	_, err := events.ReadString('\n')
	require.NoError(t, err)
	p.delay.Store(int64(time.Hour))
	lines <- "lost"
	p.cut()
	_, err = events.ReadString('\n')
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF, "a cut is no regular end")

	p.delay.Store(0)
	events = bufio.NewReader(get(t, client, host+"/api/v1/nodes?watch=1"))
	lines <- "two"
	line, err := events.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "two\n", line)
}

func TestALateBodyKeepsOrderDelayAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sender := io.Pipe()
		var delay atomic.Int64
		delay.Store(int64(10 * time.Second))
		body := newLateBody(t.Context(), source, &delay)
		begun := time.Now()
		go func() {
			fmt.Fprint(sender, "early ")
			time.Sleep(3 * time.Second)
			fmt.Fprint(sender, "late")
			_ = sender.Close()
		}()
		buffer := make([]byte, 4)
		n, err := body.Read(buffer)
		require.NoError(t, err)
		require.Equal(t, "earl", string(buffer[:n]))
		require.Equal(t, 10*time.Second, time.Since(begun))
		rest, err := io.ReadAll(body)
		require.NoError(t, err)
		require.Equal(t, "y late", string(rest))
		require.Equal(t, 13*time.Second, time.Since(begun))
		require.NoError(t, body.Close())
	})
}

func TestALateBodyThatIsCutEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sender := io.Pipe()
		var delay atomic.Int64
		delay.Store(int64(time.Hour))
		open, cut := context.WithCancelCause(t.Context())
		body := newLateBody(open, source, &delay)
		go func() {
			fmt.Fprint(sender, "held back")
			time.Sleep(time.Second)
			cut(errCut)
		}()
		begun := time.Now()
		_, err := body.Read(make([]byte, 1))
		require.ErrorIs(t, err, errCut)
		require.Equal(t, time.Second, time.Since(begun))
		require.NoError(t, body.Close())
	})
}
