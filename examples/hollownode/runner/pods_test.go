package runner

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// The answer to a patch costs as much to decode as the patch costs to encode.
// An error is decoded.
func TestTheAnswerToAPatchIsNotDecoded(t *testing.T) {
	refuses := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodPatch, r.Method)
		assert.Equal(t, "/api/v1/namespaces/ns/pods/web/status", r.URL.Path)
		assert.Equal(t, string(kubelet.StatusPatchType), r.Header.Get("Content-Type"))
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, "{}", string(body))
		w.Header().Set("Content-Type", "application/json")
		if refuses {
			w.WriteHeader(http.StatusNotFound)
			gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "web")
			assert.NoError(t, json.NewEncoder(w).Encode(gone.Status()))
			return
		}
		_, err = w.Write([]byte(`not a pod`))
		assert.NoError(t, err)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	patch := func() error {
		_, err := podsOfNamespace(client.CoreV1(), "ns").
			Patch(t.Context(), "web", kubelet.StatusPatchType, []byte("{}"), metav1.PatchOptions{}, "status")
		return err
	}
	require.NoError(t, patch())
	refuses = true
	err = patch()
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	assert.Equal(t, "web", status.Status().Details.Name)
}

func TestAClusterInMemoryHasItsOwnPatches(t *testing.T) {
	client := memory.NewCluster().CoreV1()
	_, err := podsOfNamespace(client, "ns").
		Patch(t.Context(), "web", kubelet.StatusPatchType, []byte("{}"), metav1.PatchOptions{}, "status")
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}
