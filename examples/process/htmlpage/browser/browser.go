package browser

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Browser is a headless Chromium that shows one page at a time. It is driven
// by the DevTools protocol over a pipe. Its methods fail the test on any error.
type Browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	session string
	sent    int
	// faults are what must not happen, in the order in which it happened.
	faults []string
}

// Start starts what LIFECYCLE_BROWSER names, until the test ends. Without it
// the test is skipped.
func Start(t *testing.T) *Browser {
	t.Helper()
	program := os.Getenv("LIFECYCLE_BROWSER")
	if program == "" {
		t.Skip("LIFECYCLE_BROWSER names no Chromium; .ci/browser does")
	}
	args := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--force-color-profile=srgb",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses root otherwise
	}
	itsIn, to, err := os.Pipe()
	require.NoError(t, err)
	from, itsOut, err := os.Pipe()
	require.NoError(t, err)
	command := exec.Command(program, append(args, "about:blank")...)
	command.ExtraFiles = []*os.File{itsIn, itsOut} // 3 and 4
	require.NoError(t, command.Start())
	require.NoError(t, itsIn.Close())
	require.NoError(t, itsOut.Close())
	b := &Browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		_ = to.Close() // it ends when its pipe does
		ended := time.AfterFunc(10*time.Second, func() { _ = command.Process.Kill() })
		_ = command.Wait()
		ended.Stop()
		_ = from.Close()
	})
	require.NoError(t, from.SetReadDeadline(time.Now().Add(5*time.Minute)))

	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	b.Resize(1400, 1000)
	return b
}

// call calls a method of the protocol. Events that come before the answer are
// looked through for faults.
func (b *Browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.sent++
	message, err := json.Marshal(map[string]any{"id": b.sent, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		message, err = json.Marshal(map[string]any{"id": b.sent, "method": method, "params": params})
	}
	require.NoError(b.t, err)
	_, err = b.to.Write(append(message, 0))
	require.NoError(b.t, err)
	for {
		text, err := b.from.ReadBytes(0)
		require.NoError(b.t, err, "waiting for the answer to %s", method)
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		require.NoError(b.t, json.Unmarshal(text[:len(text)-1], &answer))
		if answer.ID == 0 {
			b.event(answer.Method, answer.Params)
			continue
		}
		require.Equal(b.t, b.sent, answer.ID)
		require.Nil(b.t, answer.Error, "%s: %v", method, answer.Error)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(answer.Result, result))
		}
		return
	}
}

// event records what must not happen.
func (b *Browser) event(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Network.webSocketCreated":
		b.faults = append(b.faults, method+" "+string(params))
	case "Log.entryAdded":
		var added struct{ Entry struct{ Level, Text string } }
		require.NoError(b.t, json.Unmarshal(params, &added))
		if added.Entry.Level == "error" { // that this test reads pixels is a warning
			b.faults = append(b.faults, added.Entry.Text)
		}
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		require.NoError(b.t, json.Unmarshal(params, &sent))
		if !strings.HasPrefix(sent.Request.URL, "file:///") || !strings.HasSuffix(sent.Request.URL, ".html") {
			b.faults = append(b.faults, "asks for "+sent.Request.URL)
		}
	}
}
