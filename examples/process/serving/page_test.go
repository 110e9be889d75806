package serving

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func request(t *testing.T) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/page", nil)
}

// C5: however many ask, one collects, few wait, and the rest come back later.
func TestC5PageIsCollectedForOneCallerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most, all atomic.Int32
		page := NewPage(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			most.Store(max(most.Load(), under.Add(1)))
			all.Add(1)
			time.Sleep(time.Second)
			under.Add(-1)
			w.Header().Set("Content-Type", "text/x")
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "page")
		}))
		var mu sync.Mutex
		statuses := map[int]int{}
		var asking sync.WaitGroup
		for range 20 {
			asking.Go(func() {
				answer := httptest.NewRecorder()
				page.ServeHTTP(answer, request(t))
				mu.Lock()
				defer mu.Unlock()
				statuses[answer.Code]++
				switch answer.Code {
				case http.StatusTeapot:
					if answer.Body.String() != "page" || answer.Header().Get("Content-Type") != "text/x" {
						t.Errorf("answered %q with %v", answer.Body, answer.Header())
					}
				default:
					if answer.Header().Get("Retry-After") != "5" {
						t.Errorf("refused with %v", answer.Header())
					}
				}
			})
		}
		began := time.Now()
		asking.Wait()
		require.Equal(t, map[int]int{http.StatusTeapot: pageCallers, http.StatusServiceUnavailable: 20 - pageCallers},
			statuses)
		require.Equal(t, int32(1), most.Load())
		require.Equal(t, int32(pageCallers), all.Load())
		require.Equal(t, pageCallers*time.Second, time.Since(began))
	})
}

// C5: a request that waits or is collected for too long ends.
func TestC5PageIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := NewPage(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			<-request.Context().Done()
			time.Sleep(time.Second)
			http.Error(w, "late", http.StatusGatewayTimeout)
		}))
		began := time.Now()
		codes := make(chan int, 2)
		for range 2 {
			go func() {
				answer := httptest.NewRecorder()
				page.ServeHTTP(answer, request(t))
				codes <- answer.Code
			}()
		}
		require.Equal(t, http.StatusServiceUnavailable, <-codes, "the one that waited")
		require.Equal(t, pageTime, time.Since(began))
		require.Equal(t, http.StatusGatewayTimeout, <-codes)
	})
}

// slow is a caller that reads nothing for a minute.
type slow struct{ *httptest.ResponseRecorder }

func (s slow) Write(part []byte) (int, error) {
	time.Sleep(time.Minute)
	return s.ResponseRecorder.Write(part)
}

// C5: a caller that reads slowly holds up no other.
func TestC5SlowReadersHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := NewPage(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }))
		for range pageCallers - 1 {
			go page.ServeHTTP(slow{httptest.NewRecorder()}, request(t))
		}
		synctest.Wait()
		began, answer := time.Now(), httptest.NewRecorder()
		page.ServeHTTP(answer, request(t))
		require.Equal(t, http.StatusOK, answer.Code)
		require.Zero(t, time.Since(began))
		time.Sleep(time.Minute)
	})
}

// C5: a page that grows without end is given up.
func TestC5PageIsBoundedInMemory(t *testing.T) {
	var written int
	page := NewPage(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for part := make([]byte, 1<<20); written < 1<<30; written += len(part) {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, request(t))
	require.Equal(t, http.StatusInternalServerError, answer.Code)
	require.Equal(t, "the page is larger than 8 MiB; ask for less\n", answer.Body.String())
	require.Equal(t, pageBytes, written)
}

// A page that panics gives its turn back.
func TestPanicGivesTheTurnBack(t *testing.T) {
	first := true
	page := NewPage(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if first {
			first = false
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "page")
	}))
	require.Panics(t, func() { page.ServeHTTP(httptest.NewRecorder(), request(t)) })
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, request(t))
	require.Equal(t, "page", answer.Body.String())
}
