package rollout_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

func TestD4APodOfTheNameThatCannotBeReadIsNeither(t *testing.T) {
	plan := creations(1)
	for name, before := range map[string]error{"gone meanwhile": nil,
		"no answer": errors.New("no answer")} {
		t.Run(name, func(t *testing.T) {
			pod := newPod(t, specWith(everything()), plan.Create[0])
			server := newPodServer(pod)
			server.before = func(_ context.Context, verb, _ string) error {
				if verb == "get" {
					delete(server.stored, pod.Name)
					return before
				}
				return nil
			}
			executor := newExecutor(t, server)
			results, err := execute(t.Context(), executor, agents(), planned(*specWith(everything()), plan))
			require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
			require.ErrorIs(t, err, results[0].Err)
			if before != nil {
				require.ErrorIs(t, err, before, "neither error is lost")
			}
			require.False(t, results[0].Taken || results[0].Gone || results[0].Pod != nil)
			results, err = execute(t.Context(), executor, agents(), planned(*specWith(everything()), plan))
			require.NoError(t, err, "the same name will do")
			require.Equal(t, pod.Name, results[0].Pod.Name)
		})
	}
}

// badAnswers are what the API server, or what is before it, may answer to a
// write.
func badAnswers() map[string]error {
	quota := apierrors.NewForbidden(podsResource, "x", errors.New("exceeded quota: few"))
	terminating := apierrors.NewForbidden(
		podsResource,
		"x",
		errors.New("the namespace is being terminated"),
	)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: corev1.NamespaceTerminatingCause},
	}
	return map[string]error{
		"forbidden": quota, "namespace terminating": terminating,
		"invalid": apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil),
		"no namespace": apierrors.NewNotFound(
			schema.GroupResource{Resource: "namespaces"},
			"monitoring",
		),
		"server timeout": apierrors.NewServerTimeout(podsResource, "x", 1),
		"gateway":        apierrors.NewGenericServerResponse(504, "x", podsResource, "x", "", 0, true),
		"overloaded":     apierrors.NewTooManyRequests("later", 1),
		"internal":       apierrors.NewInternalError(errors.New("etcd")),
		"conflict": apierrors.NewConflict(
			schema.GroupResource{Resource: "resourcequotas"},
			"few",
			errors.New("changed"),
		),
		"broken": io.ErrUnexpectedEOF, "deadline": context.DeadlineExceeded,
	}
}

func TestD4NoErrorIsSwallowedOrTakenForAnAnswer(t *testing.T) {
	for name, failure := range badAnswers() {
		t.Run(name, func(t *testing.T) {
			server := newPodServer(podWith("old", "u-old"), podWith("never", "u"))
			server.before = func(_ context.Context, verb, _ string) error {
				if verb == "get" && name == "conflict" {
					return nil // the read that finds out what the conflict was about
				}
				return failure
			}
			plan := mixedPlan()
			plan.Refresh = plan.Refresh[:1]
			if name == "conflict" {
				plan.Refresh = nil
			}
			results, err := execute(
				t.Context(),
				newExecutor(t, server),
				agents(),
				planned(*specWith(everything()), plan),
			)
			for _, result := range results {
				require.ErrorIs(t, result.Err, failure)
				require.ErrorIs(t, err, result.Err)
				require.False(t, result.Gone || result.Taken || result.Pod != nil)
			}
			require.ErrorContains(t, results[0].Err, "create pod agents-")
			require.ErrorContains(t, results[0].Err, "for node node-0: ")
			require.ErrorContains(t, results[2].Err, `delete pod old with UID u-old from node "node-3": `)
			require.Equal(
				t,
				name == "namespace terminating",
				apierrors.HasStatusCause(results[0].Err, corev1.NamespaceTerminatingCause),
			)
		})
	}
}

func TestD4AConflictIsAboutAnotherPodOnlyIfThatIsThere(t *testing.T) {
	conflict := apierrors.NewConflict(podsResource, "old", errors.New("changed"))
	for _, c := range []struct {
		name string
		live *corev1.Pod
		read error
		gone bool
	}{
		{"another", podWith("old", "new"), nil, true},
		{"none", nil, nil, true},
		{"the same", podWith("old", "u-old"), nil, false},
		{"no answer", podWith("old", "new"), io.ErrUnexpectedEOF, false},
		{"no answer but a 404", podWith("old", "new"), apierrors.NewGenericServerResponse(404, "get",
			podsResource, "old", "", 0, true), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := newPodServer()
			if c.live != nil {
				server.stored["old"] = c.live
			}
			server.before = func(_ context.Context, verb, _ string) error {
				if verb == "delete" {
					return conflict
				}
				return c.read
			}
			plan := plan{Delete: mixedPlan().Delete[:1]}
			results, err := execute(
				t.Context(),
				newExecutor(t, server),
				agents(),
				planned(*specWith(everything()), plan),
			)
			require.Equal(t, c.gone, results[0].Gone)
			require.Equal(t, []string{"delete old", "get old"}, server.calls)
			if c.gone {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, conflict)
			if c.read != nil {
				require.ErrorIs(t, err, c.read)
			}
		})
	}
}

// What client-go makes of a 404 depends on what comes with it.
func TestD4OnlyTheAPIServerSaysThatAPodIsGone(t *testing.T) {
	status := func(details string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not found",` +
			`"reason":"NotFound","details":` + details + `,"code":404}`
	}
	for _, c := range []struct {
		name, body string
		gone       bool
	}{
		{"the API server", status(`{"name":"old","kind":"pods"}`), true},
		{"a proxy", "<html>404 page not found</html>", false},
		{"a proxy that speaks JSON", `{"message":"no route"}`, false},
		{"nothing", "", false},
		{"about another pod", status(`{"name":"other","kind":"pods"}`), false},
		{"about a namespace", status(`{"name":"old","kind":"namespaces"}`), false},
		{"about something of a webhook", status(`{"name":"old","group":"example.com","kind":"locks"}`),
			false},
		{"about nothing", status(`null`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := plan{
				Delete:  mixedPlan().Delete[:1],
				Refresh: []rollout.Refresh{{Pod: "old", UID: "u-old"}},
			}
			results, err := executeOverHTTP(t, plan, http.StatusNotFound, c.body)
			require.Equal(t, !c.gone, err != nil, "%v", err)
			for _, result := range results {
				require.Equal(t, c.gone, result.Gone)
				require.Equal(t, !c.gone, result.Err != nil)
				require.Nil(t, result.Pod)
			}
		})
	}
}

func TestD4A404ToACreationIsAnError(t *testing.T) {
	results, err := executeOverHTTP(t, creations(1), http.StatusNotFound, "404 page not found")
	require.ErrorIs(t, err, results[0].Err)
	require.False(t, results[0].Taken || results[0].Gone)
}

// executeOverHTTP carries out a plan with client-go against a server that gives
// one answer to everything.
func executeOverHTTP(t *testing.T, plan plan, code int, body string) ([]ended, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	client, err := typedcorev1.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	return execute(
		t.Context(),
		newExecutor(t, client.Pods("monitoring")),
		agents(),
		planned(*specWith(everything()), plan),
	)
}
