package main

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// panicking is a client that panics when it is to patch a node.
type panicking struct{ kubernetes.Interface }

type panickingGroup struct{ corev1client.CoreV1Interface }

type panickingNodes struct{ corev1client.NodeInterface }

func (p panicking) CoreV1() corev1client.CoreV1Interface { return panickingGroup{p.Interface.CoreV1()} }

func (g panickingGroup) Nodes() corev1client.NodeInterface {
	return panickingNodes{g.CoreV1Interface.Nodes()}
}

func (panickingNodes) Patch(
	context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*corev1.Node, error) {
	panic("boom")
}

// Q11: the program exits with an error, says why, and has counted it.
func TestQ11ProgramExitsAfterAPanic(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var s settings
	var metrics prometheus.Gatherer
	c := command(&s)
	c.Run = func(ctx context.Context, _ *pflag.FlagSet, _ io.Writer) error {
		cluster := memory.NewCluster()
		_, err := cluster.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{Unschedulable: true},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		p := program(&s, io.Discard)
		connect := p.Connect
		p.Connect = func(ctx context.Context, clients process.Clients) (*process.Service, error) {
			service, err := connect(ctx, clients)
			if err == nil {
				metrics = service.Metrics
			}
			return service, err
		}
		acting := panicking{cluster.NewClient()}
		return p.RunOn(ctx, process.Clients{
			Acting: acting, Watching: acting, Recording: cluster.NewClient(), Electing: cluster.NewClient(),
		})
	}
	var out, diagnostics bytes.Buffer
	code := c.Execute(ctx, []string{"--secure-port=0"}, &out, &diagnostics)
	require.NoError(t, ctx.Err(), "it goes on")
	require.Equal(t, process.ExitFailed, code)
	require.Contains(t, diagnostics.String(), "action panicked: boom")
	families, err := metrics.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "dispatcher_action_panics_total" {
			require.Equal(t, 1.0, family.GetMetric()[0].GetCounter().GetValue())
			return
		}
	}
	t.Fatal("panics are not counted")
}
