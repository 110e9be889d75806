package serving

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// What a page may cost, however many callers ask for it.
const (
	// pageTime is for waiting and collecting. The context of the request ends
	// then.
	pageTime = 30 * time.Second
	// pageBytes is the most that a page may be.
	pageBytes = 8 << 20
	// pageCallers are those that wait for the page, and those that it is written
	// to.
	pageCallers = 4
	// retryAfter is when a caller that was refused may come back, in seconds.
	retryAfter = 5
)

// NewPage returns a page that is collected for one caller at a time, while a
// few wait for their turn. It is collected in memory, so that a slow caller
// holds up no other. More callers, and those whose turn does not come, are
// answered 503 with Retry-After. So are all when the page is not collected in
// time, for which it must watch the request's context. One that is too large is
// answered 500.
func NewPage(page http.Handler) http.Handler {
	return &onePage{page: page, callers: make(chan struct{}, pageCallers), turn: make(chan struct{}, 1)}
}

type onePage struct {
	page    http.Handler
	callers chan struct{}
	turn    chan struct{}
}

func (p *onePage) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	select {
	case p.callers <- struct{}{}:
		defer func() { <-p.callers }()
	default:
		Busy(w, "others are waiting for this page")
		return
	}
	ctx, cancel := context.WithTimeout(request.Context(), pageTime)
	defer cancel()
	collected, ok := p.collect(request.WithContext(ctx))
	if !ok {
		Busy(w, "others were reading this page")
		return
	}
	collected.writeTo(w)
}

// collect returns false when the turn of the request did not come.
func (p *onePage) collect(request *http.Request) (*collected, bool) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-request.Context().Done():
		return nil, false
	}
	c := &collected{header: make(http.Header), status: http.StatusOK}
	p.page.ServeHTTP(c, request)
	return c, true
}

// Busy tells a caller to come back.
func Busy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	http.Error(w, why, http.StatusServiceUnavailable)
}

// collected is an answer in memory.
type collected struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	tooLarge bool
}

var errTooLarge = errors.New("the page is larger than " + strconv.Itoa(pageBytes>>20) + " MiB")

func (c *collected) Header() http.Header    { return c.header }
func (c *collected) WriteHeader(status int) { c.status = status }

func (c *collected) Write(part []byte) (int, error) {
	if c.tooLarge = c.tooLarge || c.body.Len()+len(part) > pageBytes; c.tooLarge {
		c.body = bytes.Buffer{}
		return 0, errTooLarge
	}
	return c.body.Write(part)
}

func (c *collected) writeTo(w http.ResponseWriter) {
	if c.tooLarge {
		http.Error(w, errTooLarge.Error()+"; ask for less", http.StatusInternalServerError)
		return
	}
	maps.Copy(w.Header(), c.header)
	w.WriteHeader(c.status)
	if _, err := c.body.WriteTo(w); err != nil {
		return // the reader has gone
	}
}
