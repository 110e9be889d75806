package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// shadowFleet is the value of runner.Label of all nodes.
const shadowFleet = "shadow"

// tolerationsOfPods are those of the pods of each node, in seconds; nil is for
// ever.
var tolerationsOfPods = []*int64{
	ptr.To(int64(0)), ptr.To(int64(6)), ptr.To(int64(6)), ptr.To(int64(6)), ptr.To(int64(6)), nil, nil,
}

// shadowWorld is three zones of 20 nodes of examples/hollownode, with their
// pods.
type shadowWorld struct {
	cluster  *memory.Cluster
	kubelets *runner.Runner
}

// newShadowWorld creates the nodes and their pods. Their kubelets begin with
// run.
func newShadowWorld(t *testing.T, cluster *memory.Cluster) *shadowWorld {
	t.Helper()
	client := cluster.NewClient()
	kubelets, err := runner.NewRunner(runner.Config{
		Acting: client, Watching: client, Beating: client, Fleet: shadowFleet,
		Heartbeat: heartbeat.Config{
			LeaseDuration:  4 * time.Second,
			RenewInterval:  time.Second,
			StatusInterval: time.Second,
			ReportInterval: 10 * time.Second,
		},
	})
	require.NoError(t, err)
	for _, zone := range "abc" {
		for i := range 20 {
			name := fmt.Sprintf("node-%c%02d", zone, i)
			_, err := cluster.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: name,
				Labels: map[string]string{
					corev1.LabelTopologyZone: string(zone), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
					runner.Label: shadowFleet,
				},
			}}, metav1.CreateOptions{})
			require.NoError(t, err)
			for j, seconds := range tolerationsOfPods {
				addShadowPod(t, cluster, fmt.Sprintf("%s-%d", name, j), name, seconds)
			}
		}
	}
	return &shadowWorld{cluster, kubelets}
}

func addShadowPod(t *testing.T, cluster *memory.Cluster, name, on string, seconds *int64) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "work", Image: "work"}}},
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds,
		})
	}
	pods := cluster.CoreV1().Pods(metav1.NamespaceDefault)
	_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, pods.Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Target:     corev1.ObjectReference{Kind: "Node", Name: on},
	}, metav1.CreateOptions{}))
}

// run is the nodes until ctx ends.
func (w *shadowWorld) run(ctx context.Context) error {
	// That nodes are down is the test, not news.
	return w.kubelets.Run(klog.NewContext(ctx, logr.Discard()))
}

// silence cuts nodes off from the API server, or ends that.
func (w *shadowWorld) silence(t *testing.T, silent bool, nodes ...string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%t"}}}`,
		cri.AnnotationDomain+"/"+kubelet.AnnotationSilent, silent)
	for _, name := range nodes {
		_, err := w.cluster.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
}
