package evictionreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
)

// waiting is a state that is made up.
type waiting []eviction.Pending

func (w waiting) Waiting() int { return len(w) }

func (w waiting) Acting() int { return 0 }

func (w waiting) Delayed(string) int { return 0 }

func (w waiting) Overdue(time.Time) (since time.Time, is bool) { return since, false }

// Nodes are two, with all the pods on the second.
func (w waiting) Nodes() []string { return []string{"empty by now", "all"} }

func (w waiting) PendingOn(node string) iter.Seq[eviction.Pending] {
	if node != "all" {
		return slices.Values[[]eviction.Pending](nil)
	}
	return slices.Values(w)
}

func (w waiting) read(look func(State)) { look(w) }

// inTracker is the state of a real tracker, in a bubble whose clock begins at
// 2000-01-01T00:00:00Z. One pod waits, one is under way, one has failed, one
// waits for a budget, and one for the end of a hold.
func inTracker(t *testing.T) *eviction.Tracker {
	t.Helper()
	start := time.Now()
	tracker, err := eviction.NewTracker(eviction.Config{
		Budgets: []eviction.Budget{{Name: "namespace", ByPod: func(pod *corev1.Pod) string { return pod.Namespace },
			Limit: rate.Every(time.Hour)}},
		Holds: []eviction.Hold{{Name: "maintained", Taints: func(*corev1.Taint) bool { return true }}},
	}, start)
	require.NoError(t, err)
	for _, name := range []string{"n1", "n2"} {
		tracker.ObserveNode(start, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
			Spec: corev1.NodeSpec{
				Taints: []corev1.Taint{{Key: "maintenance", Value: "disk", Effect: corev1.TaintEffectNoExecute}}},
		})
	}
	require.True(t, tracker.SetHold(start, "maintained", "n2", true))
	for _, pod := range []struct {
		namespace, name, node string
		seconds               int64
	}{
		{"shop", "patient", "n1", 60}, {"shop", "next", "n1", 1}, {"shop", "failed", "n1", 0},
		{"bank", "acting", "n1", 0}, {"farm", "held", "n2", 1},
	} {
		tracker.ObservePod(start, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.namespace, Name: pod.name, UID: types.UID(pod.name)},
			Spec: corev1.PodSpec{NodeName: pod.node, Tolerations: []corev1.Toleration{{
				Key: "maintenance", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To(pod.seconds),
			}}},
		})
	}
	tracker.MarkSynced()
	task, ok := tracker.Start(start)
	require.True(t, ok)
	require.Equal(t, "failed", task.Pod.Name)
	tracker.Finish(start, task,
		eviction.Result{Outcome: eviction.OutcomeFailed, RetryAfter: time.Minute, Err: errors.New("no\n\tway")})
	task, ok = tracker.Start(start)
	require.True(t, ok)
	require.Equal(t, "acting", task.Pod.Name)
	time.Sleep(1500 * time.Millisecond)
	_, ok = tracker.Start(time.Now())
	require.False(t, ok)
	return tracker
}

func reading(state State) Read { return func(look func(State)) { look(state) } }

func ask(t *testing.T, read Read, query string) (int, string) {
	t.Helper()
	answer := httptest.NewRecorder()
	NewPage(read).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/pending"+query, nil))
	return answer.Code, answer.Body.String()
}

func TestPageListsDeadlinesAndReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code, text := ask(t, reading(inTracker(t)), "")
		require.Equal(t, http.StatusOK, code)
		var lines []string
		for line := range strings.Lines(text) {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
		const why = "tolerates taint maintenance=disk:NoExecute for "
		require.Equal(t, []string{
			"5 pods wait to be evicted, 4 of them should have left by now, 2000-01-01T00:00:01Z.",
			"",
			"LEAVES                IN      POD           NODE  WHY                                                  STATE",
			"2000-01-01T00:00:00Z  -1.5s   bank/acting   n1    " + why + "0s    under way",
			"2000-01-01T00:00:00Z  -1.5s   shop/failed   n1    " + why +
				"0s    is tried again in 58.5s, failed attempts: 1, last error: no way",
			"2000-01-01T00:00:01Z  -500ms  farm/held     n2    " + why + "1s    waits for the end of hold maintained",
			"2000-01-01T00:00:01Z  -500ms  shop/next     n1    " + why + "1s    waits for budget namespace",
			"2000-01-01T00:01:00Z  58.5s   shop/patient  n1    " + why + "1m0s",
		}, lines)
	})
}

func TestPageForPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		code, text := ask(t, reading(inTracker(t)), "?format=json&limit=4")
		require.Equal(t, http.StatusOK, code)
		var page pageJSON
		require.NoError(t, json.Unmarshal([]byte(text), &page))
		require.Equal(t, 5, page.Pending)
		require.Equal(t, 4, page.Overdue)
		require.WithinDuration(t, time.Now(), page.Now, 0)
		require.Len(t, page.Pods, 4)
		why := "tolerates taint maintenance=disk:NoExecute for "
		pod := func(namespace, name string, seconds int64) podJSON {
			return podJSON{
				Namespace: namespace, Name: name, UID: name, Node: "n1",
				Due:    ptr.To(started.Add(time.Duration(seconds) * time.Second).Round(0)),
				Reason: "TolerationEnds", Taint: "maintenance=disk:NoExecute", TolerationSeconds: ptr.To(seconds),
				Why: why + (time.Duration(seconds) * time.Second).String(),
			}
		}
		acting, failed := pod("bank", "acting", 0), pod("shop", "failed", 0)
		held, next := pod("farm", "held", 1), pod("shop", "next", 1)
		acting.Acting = true
		failed.Error = "no\n\tway"
		failed.Attempts, failed.Next = 1, ptr.To(started.Add(time.Minute).Round(0))
		held.Node, held.Hold = "n2", "maintained"
		next.Budget, next.Next = "namespace", next.Due
		for i, want := range []podJSON{acting, failed, held, next} {
			got := page.Pods[i]
			for _, at := range []*time.Time{got.Due, got.Next} {
				if at != nil {
					*at = at.Local()
				}
			}
			require.Equal(t, want, got)
		}
	})
}

func TestPageWithoutPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, text := ask(t, waiting(nil).read, "")
		require.Equal(t, "0 pods wait to be evicted, 0 of them should have left by now, 2000-01-01T00:00:00Z.\n", text)
		_, text = ask(t, waiting(nil).read, "?format=json")
		require.JSONEq(t, `{"now":"`+time.Now().Format(time.RFC3339)+`","pending":0,"overdue":0,"pods":[]}`, text)
	})
}

func TestPageRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for query, says := range map[string]string{
		"?format=yaml": `format is "yaml", want text or json`,
		"?limit=-1":    `limit is "-1", want a whole number from 1 to 10000`,
		"?limit=0":     `limit is "0", want a whole number from 1 to 10000`,
		"?limit=10001": `limit is "10001", want a whole number from 1 to 10000`,
		"?limit=all":   `limit is "all", want a whole number from 1 to 10000`,
	} {
		code, text := ask(t, waiting(nil).read, query)
		require.Equal(t, http.StatusBadRequest, code)
		require.Equal(t, says+"\n", text)
	}
}

// Whatever the limit and the order in which they come, the first are listed, and
// all are counted.
func TestListIsTheBeginningOfAllInOrder(t *testing.T) {
	synctest.Test(t, listIsTheBeginningOfAllInOrder) // what is overdue must not change meanwhile
}

func listIsTheBeginningOfAllInOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	now := time.Now()
	for range 200 {
		var all waiting
		overdue := 0
		for i := range random.IntN(40) {
			p := eviction.Pending{Pod: eviction.Key{Namespace: fmt.Sprint(random.IntN(3)), Name: fmt.Sprint(i)}}
			if random.IntN(5) > 0 {
				p.Decision = eviction.Decision{Reason: eviction.ReasonUntolerated,
					Due: now.Add(time.Duration(random.IntN(20)-10)*time.Second - time.Millisecond)}
			}
			all = append(all, p)
		}
		for _, p := range all {
			if p.Decision.Leaves() && !p.Decision.Due.After(now) {
				overdue++
			}
		}
		whole := slices.Clone(all)
		slices.SortFunc(whole, func(a, b eviction.Pending) int {
			if c := a.Decision.Due.Compare(b.Decision.Due); c != 0 {
				return c
			}
			return strings.Compare(a.Pod.Namespace+"/"+a.Pod.Name, b.Pod.Namespace+"/"+b.Pod.Name)
		})
		limit := 1 + random.IntN(45)
		l, err := list(t.Context(), all.read, limit)
		require.NoError(t, err)
		require.Equal(t, len(all), l.pending)
		require.Equal(t, overdue, l.overdue)
		require.Equal(t, names(whole[:min(limit, len(whole))]), names(l.pods))
	}
}

func names(pods []eviction.Pending) []string {
	all := []string{}
	for _, p := range pods {
		all = append(all, p.Pod.String())
	}
	return all
}

func TestPageSaysThatThereAreMore(t *testing.T) {
	pods := waiting{{Pod: eviction.Key{Name: "a"}, Acting: true}, {Pod: eviction.Key{Name: "b"}}}
	_, text := ask(t, pods.read, "?limit=1")
	require.Contains(t, text, "These are the first 1; limit=N shows N, up to 10000.")
	require.Regexp(t, "stays.* under way", text)
	_, text = ask(t, pods.read, "?limit=2")
	require.NotContains(t, text, "the first")
	require.Contains(t, text, "/b")
}

// endless is a state whose every part takes a second, and in which there is
// always another.
type endless struct {
	waiting
	parts *int
}

func (e endless) Nodes() []string { return make([]string, 1000) }

func (e endless) PendingOn(string) iter.Seq[eviction.Pending] {
	*e.parts++
	time.Sleep(time.Second)
	return slices.Values(make([]eviction.Pending, atOnce))
}

// C5: the page takes a quarter of the state's time, and ends with the request.
func TestC5PageIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts, locked := 0, time.Duration(0)
		state := endless{waiting{{Pod: eviction.Key{Name: "a"}}}, &parts}
		read := func(look func(State)) {
			began := time.Now()
			look(state)
			locked += time.Since(began)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began, answer := time.Now(), httptest.NewRecorder()
		NewPage(read).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/pending", nil))
		require.Equal(t, 30*time.Second, time.Since(began))
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.Equal(t, "not all pods could be read in time\n", answer.Body.String())
		require.Equal(t, 8, parts)
		require.Equal(t, 8*time.Second, locked)

		for range 20 { // parts that take no time end as well
			parts = 0
			_, err := list(ctx, reading(idle{endless{parts: &parts}}), 1)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 1, parts)
		}
	})
}

// idle is an endless state whose parts take no time.
type idle struct{ endless }

func (i idle) PendingOn(string) iter.Seq[eviction.Pending] {
	*i.parts++
	return slices.Values(make([]eviction.Pending, atOnce))
}
