package process

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// halting is a halter and what it does.
type halting struct {
	*testing.T
	halter
	client        kubernetes.Interface
	told          []string
	known, leader bool
	events        chan string
}

func newHalting(t *testing.T, annotations map[string]string) *halting {
	client := memory.NewCluster()
	h := &halting{T: t, client: client, leader: true}
	recorder := record.NewFakeRecorder(10)
	h.events = recorder.Events
	h.halter = halter{
		namespace: "kube-system", name: "tester", client: client, recorder: recorder,
		leads:  func() bool { return h.leader },
		halt:   func() { h.told = append(h.told, "halt") },
		resume: func() { h.told = append(h.told, "resume") },
	}
	h.create("tester", annotations)
	h.create("other", map[string]string{HaltAnnotation: "not this one"})
	return h
}

func (h *halting) create(name string, annotations map[string]string) {
	h.Helper()
	_, err := h.client.CoordinationV1().Leases("kube-system").Create(h.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", Annotations: annotations},
	}, metav1.CreateOptions{})
	require.NoError(h, err)
}

// follow runs the halter until the test ends.
func (h *halting) follow() {
	ctx, stop := context.WithCancel(h.Context())
	ended := make(chan error)
	go func() { ended <- h.run(ctx, func() { h.known = true }) }()
	h.Cleanup(func() {
		stop()
		require.NoError(h, <-ended)
	})
	h.settle()
}

func (h *halting) settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// annotate sets the annotation to a JSON value.
func (h *halting) annotate(value string) {
	h.Helper()
	patch := `{"metadata":{"annotations":{"` + HaltAnnotation + `":` + value + `}}}`
	_, err := h.client.CoordinationV1().Leases("kube-system").
		Patch(h.Context(), "tester", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(h, err)
	h.settle()
}

func (h *halting) event() string {
	select {
	case event := <-h.events:
		return event
	default:
		return ""
	}
}

func (h *halting) metric() float64 {
	registry := prometheus.NewRegistry()
	registry.MustRegister(h.collector())
	families, err := registry.Gather()
	require.NoError(h, err)
	return families[0].GetMetric()[0].GetGauge().GetValue()
}

// C7: an annotation of the leader's Lease halts the controller until it is
// gone.
func TestC7AnAnnotationHalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHalting(t, nil)
		h.follow()
		require.True(t, h.known)
		require.Empty(t, h.told)
		require.Equal(t, "not halted", h.state())
		require.Zero(t, h.metric())

		h.annotate(`"wrong labels"`)
		require.Equal(t, []string{"halt"}, h.told)
		require.Equal(t, "halted by lifecycle.kubelife.io/halt", h.state())
		require.Equal(t, "Warning Halted Halted by its annotation lifecycle.kubelife.io/halt: wrong labels", h.event())
		require.InDelta(t, 1, h.metric(), 0)

		h.annotate(`""`)
		require.Equal(t, []string{"halt"}, h.told, "whatever its value")
		require.Equal(t, "halted by lifecycle.kubelife.io/halt", h.state())

		h.leader = false
		h.annotate(`null`)
		require.Equal(t, []string{"halt", "resume"}, h.told)
		require.Empty(t, h.event(), "only the leader tells")
		require.Zero(t, h.metric())
	})
}

// C7: a process that starts while the annotation is there knows it before it
// may act.
func TestC7AHaltIsKnownFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHalting(t, map[string]string{HaltAnnotation: ""})
		knew := false
		h.halt = func() { knew = !h.known }
		h.follow()
		require.True(t, h.known)
		require.True(t, knew)
	})
}

// C7: the halt lasts while the Lease is away, and goes with it.
func TestC7AHaltEndsWithANewLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHalting(t, map[string]string{HaltAnnotation: ""})
		h.follow()
		require.NoError(t, h.client.CoordinationV1().Leases("kube-system").
			Delete(t.Context(), "tester", metav1.DeleteOptions{}))
		h.settle()
		require.Equal(t, []string{"halt"}, h.told)
		h.create("tester", nil)
		h.settle()
		require.Equal(t, []string{"halt", "resume"}, h.told)
	})
}
