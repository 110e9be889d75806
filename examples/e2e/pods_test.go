package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// wantSomeBound wants that so many pods of a priority class have a node.
func (c *cluster) wantSomeBound(class string, n int) error {
	bound := 0
	for _, pod := range c.allPods() {
		if pod.Spec.PriorityClassName == class && pod.Spec.NodeName != "" {
			bound++
		}
	}
	if bound < n {
		return fmt.Errorf("%d pods have a node", bound)
	}
	return nil
}

func (c *cluster) patchNodes(nodes []string, patch string) {
	c.t.Helper()
	c.many(nodes, func(ctx context.Context, name string) error {
		_, err := c.client.CoreV1().Nodes().
			Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// many does something for each name, 16 at a time.
func (c *cluster) many(names []string, do func(ctx context.Context, name string) error) {
	c.t.Helper()
	group, ctx := errgroup.WithContext(c.t.Context())
	group.SetLimit(16)
	for _, name := range names {
		group.Go(func() error { return do(ctx, name) })
	}
	require.NoError(c.t, group.Wait())
}

// addPriorities creates the classes low, which is the default, and high.
func (c *cluster) addPriorities() {
	c.t.Helper()
	for name, value := range map[string]int32{"low": -10, "high": 1000} {
		_, err := c.client.SchedulingV1().PriorityClasses().Create(c.t.Context(), &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: name == "low",
		}, metav1.CreateOptions{})
		require.NoError(c.t, err)
	}
}

// ourScheduler is the spec.schedulerName of pods for examples/scheduler.
const ourScheduler = "lifecycle-scheduler"

// manyPods returns pods for examples/scheduler. The kind begins their names.
func manyPods(kind string, n int, cpu string, shape func(*corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%04d", kind, i)},
			Spec: corev1.PodSpec{
				SchedulerName: ourScheduler,
				Containers: []corev1.Container{{
					Name: "work", Image: "example.invalid/work", Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
					},
				}},
			},
		}
		if shape != nil {
			shape(pod)
		}
		pods = append(pods, pod)
	}
	return pods
}

// scheduledBy makes pods those of a scheduler.
func scheduledBy(name string, pods []*corev1.Pod) []*corev1.Pod {
	for _, pod := range pods {
		pod.Spec.SchedulerName = name
	}
	return pods
}

func (c *cluster) create(pods []*corev1.Pod) {
	c.t.Helper()
	named := map[string]*corev1.Pod{}
	var names []string
	for _, pod := range pods {
		named[pod.Name] = pod
		names = append(names, pod.Name)
	}
	c.many(names, func(ctx context.Context, name string) error {
		_, err := c.client.CoreV1().Pods(fleet.Namespace).Create(ctx, named[name], metav1.CreateOptions{})
		return err
	})
}

func (c *cluster) allPods() []corev1.Pod {
	c.t.Helper()
	pods, err := c.client.CoreV1().Pods(fleet.Namespace).List(c.t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	require.NoError(c.t, err)
	return pods.Items
}

// wantAllBound wants that each pod of a priority class has a node.
func (c *cluster) wantAllBound(class string) error {
	var waiting []string
	for _, pod := range c.allPods() {
		if pod.Spec.PriorityClassName == class && pod.Spec.NodeName == "" {
			waiting = append(waiting, pod.Name)
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d pods have no node, %s for example", len(waiting), waiting[0])
	}
	return nil
}

// awaitRunning waits until the bound pods of a kind run that are not on silent
// nodes, and returns how many they are. A budget protects no pod that has not
// begun to run.
func (c *cluster) awaitRunning(kind string, silent []string) (running int) {
	c.t.Helper()
	c.eventually("the pods of kind "+kind+" run", func(*witness) error {
		running = 0
		for _, pod := range c.allPods() {
			switch {
			case !strings.HasPrefix(pod.Name, kind+"-") || slices.Contains(silent, pod.Spec.NodeName):
			case pod.Status.Phase != corev1.PodRunning:
				return fmt.Errorf("pod %s is %s: %s", pod.Name, pod.Status.Phase, pod.Status.Message)
			default:
				running++
			}
		}
		return nil
	})
	return running
}
