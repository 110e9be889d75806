package process

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// C7: of a shadow's clients only the one that elects sends writes, whatever is
// called.
func TestC7AShadowsClientsOnlyRead(t *testing.T) {
	for shadow, sent := range map[bool]int{true: 1, false: 4} {
		var mu sync.Mutex
		var writes []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method != http.MethodGet {
				writes = append(writes, r.Method+" "+r.URL.Path)
			}
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write([]byte(`{"apiVersion":"v1","kind":"Pod"}`))
			assert.NoError(t, err)
		}))
		clients, err := newClients(&rest.Config{Host: server.URL}, &commandline.Replica{
			LeaderElection: commandline.LeaderElection{RenewDeadline: 10 * time.Second},
		}, shadow, nil)
		require.NoError(t, err)
		for _, client := range []kubernetes.Interface{
			clients.Acting, clients.Watching, clients.Recording, clients.Electing,
		} {
			pods := client.CoreV1().Pods("shop")
			_, err := pods.Get(t.Context(), "cart", metav1.GetOptions{})
			require.NoError(t, err)
			err = pods.Delete(t.Context(), "cart", metav1.DeleteOptions{})
			if shadow && client != clients.Electing {
				require.ErrorIs(t, err, errShadow)
			} else {
				require.NoError(t, err)
			}
		}
		server.Close()
		require.Len(t, writes, sent, "%v", writes)
	}
}

func TestC7AShadowRecordsNoEvents(t *testing.T) {
	for shadow, recorded := range map[bool]int{true: 0, false: 1} {
		synctest.Test(t, func(t *testing.T) {
			cluster := memory.NewCluster()
			events := NewEventsOf(t.Context(), &commandline.Process{Shadow: shadow}, cluster.NewClient())
			pod := &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "cart"}
			events.Recorder("tester").Event(pod, corev1.EventTypeNormal, "Reason", "message")
			time.Sleep(time.Minute)
			events.Stop()
			synctest.Wait()
			list, err := cluster.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, list.Items, recorded)
		})
	}
}
