package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/kubernetes/pkg/kubelet/metrics"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/metrics"
)

// served is how many metrics have a kubelet's name.
const served = 4

// Each metric that has a kubelet's name has the kubelet's type and labels.
func TestMetricsWithNamesOfTheKubeletAreItsOwn(t *testing.T) {
	ours := fleetMetrics(t)
	theirs := kubeletMetrics(t)
	for name, family := range ours {
		want, found := theirs[name]
		require.True(t, found, "the kubelet has no %s, or the test gives it no value", name)
		require.Equal(t, want.GetType(), family.GetType(), "type of %s", name)
		require.Equal(t, shapes(want)[0], shapes(family)[0], "labels of %s", name)
		require.Len(t, slices.Compact(shapes(family)), 1, "all values of %s are alike", name)
	}
	require.Len(t, ours, served)
}

// fleetMetrics returns the metrics with a kubelet's name of a fleet in which
// each has a value.
func fleetMetrics(t *testing.T) map[string]*dto.MetricFamily {
	fleet, runtime := fakeFleet(t)
	for name, annotations := range map[string]map[string]string{
		"fails": {cri.AnnotationDomain + "/" + cri.AnnotationStartFailures: "1"},
		"ends":  {cri.AnnotationDomain + "/" + cri.AnnotationRunTime: "1s"},
	} {
		fleet.ObservePod(epoch, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: annotations},
			Spec: corev1.PodSpec{
				NodeName: hollowNode, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			},
		})
	}
	registry := prometheus.NewRegistry()
	_, err := metrics.NewMetrics(metrics.Config{
		Registry: registry, View: func(read func(*kubelet.Fleet, *cri.Fake)) { read(fleet, runtime) },
	})
	require.NoError(t, err)
	for now := epoch; now.Before(epoch.Add(time.Minute)); now = now.Add(time.Second) {
		for task, found := fleet.Start(now); found; task, found = fleet.Start(now) {
			fleet.Finish(now, task, kubelet.ResultDone)
		}
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	return named(families, func(name string) bool { return strings.HasPrefix(name, "kubelet_") })
}

// kubeletMetrics returns those of the kubelet's metrics to which it gives a
// value. A metric with labels is gathered only if it has one.
func kubeletMetrics(t *testing.T) map[string]*dto.MetricFamily {
	upstream.Register()
	upstream.RunningPodCount.Set(0)
	upstream.RunningContainerCount.WithLabelValues("")
	upstream.StartedPodsTotal.Add(0)
	upstream.StartedContainersTotal.WithLabelValues("")
	families, err := upstream.GetGather().Gather()
	require.NoError(t, err)
	return named(families, func(string) bool { return true })
}

func named(families []*dto.MetricFamily, wanted func(name string) bool) map[string]*dto.MetricFamily {
	byName := map[string]*dto.MetricFamily{}
	for _, family := range families {
		if wanted(family.GetName()) {
			byName[family.GetName()] = family
		}
	}
	return byName
}

// shapes returns the names of the labels of each value of a metric.
func shapes(family *dto.MetricFamily) []string {
	var all []string
	for _, metric := range family.GetMetric() {
		var parts []string
		for _, label := range metric.GetLabel() {
			parts = append(parts, label.GetName())
		}
		slices.Sort(parts)
		all = append(all, strings.Join(parts, " "))
	}
	return all
}
