package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

func TestEventsHaveTheirNodeAsHost(t *testing.T) {
	cluster := memory.NewCluster()
	told := newRecording(t.Context(), &settings{events: true}, cluster)
	defer told.stop()
	record := told.record()
	for range 2 {
		record(kubelet.Event{
			Node: "n", Object: corev1.ObjectReference{
				APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "p", UID: "uid", FieldPath: "spec.containers{c}",
			},
			Type: corev1.EventTypeWarning, Reason: "BackOff", Message: "waits",
		})
	}
	var event *corev1.Event
	require.Eventually(t, func() bool {
		list, err := cluster.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		if len(list.Items) == 1 && list.Items[0].Count == 2 { // one object for both
			event = &list.Items[0]
		}
		return event != nil
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, corev1.EventSource{Component: "kubelet", Host: "n"}, event.Source)
	require.Equal(t, "kubelet", event.ReportingController)
	require.Equal(t, "n", event.ReportingInstance)
	require.Equal(t, "spec.containers{c}", event.InvolvedObject.FieldPath)
	require.True(t, strings.HasPrefix(event.Name, "p."))
}

// What is wrong with the annotations of a node or a pod is an event about it,
// also when the node is silent.
func TestAnAnnotationThatIsWrongIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s settings
		require.NoError(t, command(&s).FlagSet().Parse([]string{"--nodes=1"}))
		cluster := memory.NewCluster()
		ctx, stop := context.WithCancel(t.Context())
		told := newRecording(ctx, &s, cluster.NewClient())
		clients := process.Clients{Acting: cluster.NewClient(), Watching: cluster.NewClient()}
		fleet, err := newFleet(ctx, &s, clients, prometheus.NewRegistry(), told.record())
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- fleet.Run(ctx) }()
		time.Sleep(time.Second)
		const node = "hollow-00001"
		for _, name := range []string{kubelet.AnnotationSilent, "slient"} {
			_, err := cluster.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, annotation(name, ""),
				metav1.PatchOptions{})
			require.NoError(t, err)
		}
		pods := cluster.CoreV1().Pods("demo")
		pod, err := pods.Create(ctx, demoPod(1, node), metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = pods.Patch(ctx, pod.Name, types.MergePatchType, annotation(cri.AnnotationCrash, ":"),
			metav1.PatchOptions{})
		require.NoError(t, err)
		time.Sleep(10 * time.Minute)
		list, err := cluster.CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		stop()
		require.NoError(t, <-ended)
		told.stop()
		events := slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return e.Reason != "InvalidAnnotation" })
		says := map[string]string{}
		for _, e := range events {
			require.EqualValues(t, 1, e.Count)
			require.Equal(t, corev1.EventTypeWarning, e.Type)
			require.Equal(t, node, e.Source.Host)
			says[e.InvolvedObject.Kind] = e.Message
		}
		require.Len(t, events, 2)
		require.Contains(t, says["Node"], `hollownode.kubelife.dev/slient: there is no "slient"`)
		require.Contains(t, says["Pod"], "want CONTAINER or CONTAINER:CODE")
	})
}

// The dispatcher's lock is held meanwhile.
func TestRecordingDoesNotWaitForTheAPIServer(t *testing.T) {
	cluster := fake.NewClientset()
	release := make(chan struct{})
	cluster.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-release
		return false, nil, nil
	})
	told := newRecording(t.Context(), &settings{events: true}, cluster)
	record := told.record()
	for range 10_000 {
		record(kubelet.Event{
			Node: "n", Object: corev1.ObjectReference{Kind: "Node", Name: "n"},
			Type: corev1.EventTypeNormal, Reason: "Starting", Message: "Starting kubelet.",
		})
	}
	close(release)
	told.stop()
}

func TestNoEventsWithoutTheFlag(t *testing.T) {
	told := newRecording(t.Context(), new(settings), memory.NewCluster())
	require.Nil(t, told.record())
	told.stop()
}

func TestFlagsLimitEvents(t *testing.T) {
	for _, test := range []struct {
		qps, burst int32
		wantQPS    float32
		wantBurst  int
	}{{50, 100, 50, 100}, {0, 0, -1, 100}, {7, 9, 7, 9}} {
		s := settings{eventQPS: test.qps, eventBurst: test.burst}
		s.limitEvents()
		require.Equal(t, test.wantQPS, s.replica.EventQPS)
		require.Equal(t, test.wantBurst, s.replica.EventBurst)
	}
}
