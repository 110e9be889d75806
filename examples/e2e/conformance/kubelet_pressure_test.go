package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/clock"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// A node under pressure takes and rejects the same pods as the kubelet's
// eviction manager, in the same words. The manager measures a machine whose
// resources are scarce in the same ways. It lists several conditions in any
// order, and a hollow node in that of their names.
func TestAdmissionUnderPressureIsThatOfTheEvictionManager(t *testing.T) {
	const each = 1_000
	reached := reached{}
	for _, faults := range allPressures() {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			manager, handler := scarce(faults).manager()
			manager.Start(ctx, oneDisk{}, func() []*corev1.Pod { return nil }, func(*corev1.Pod) bool { return true },
				time.Minute)
			synctest.Wait() // it has measured once
			require.Equal(t, faults.MemoryPressure, manager.IsUnderMemoryPressure())
			require.Equal(t, faults.DiskPressure, manager.IsUnderDiskPressure())
			require.Equal(t, faults.PIDPressure, manager.IsUnderPIDPressure())
			for seed := range seeds(each) {
				pod := throw(seed).pressedPod()
				want := handler.Admit(ctx, &lifecycle.PodAdmitAttributes{Pod: fromAPI(pod)})
				got := admittedUnder(t, faults, pod)
				if want.Admit {
					require.NotEqual(t, corev1.PodFailed, got.Phase, "seed %d: %+v: %s", seed, faults, got.Message)
					reached.count("taken under %d pressures", pressures(faults))
					continue
				}
				require.Equal(t, corev1.PodFailed, got.Phase, "seed %d: %+v: %s", seed, faults, want.Message)
				require.Equal(t, want.Reason, got.Reason, "seed %d", seed)
				require.Equal(t, inOrder("Pod was rejected: "+want.Message), got.Message, "seed %d", seed)
				reached.count("rejected under %d pressures", pressures(faults))
			}
			stop()
			synctest.Wait()
		})
	}
	reached.require(t, floors{
		"taken under 0 pressures": 1_000, "taken under 1 pressures": 500, "taken under 2 pressures": 300,
		"taken under 3 pressures": 100, "rejected under 1 pressures": 1_000, "rejected under 2 pressures": 1_500,
		"rejected under 3 pressures": 500,
	})
}

// allPressures are all subsets of the three.
func allPressures() []kubelet.Faults {
	var all []kubelet.Faults
	for i := range 8 {
		all = append(all, kubelet.Faults{MemoryPressure: i&1 > 0, DiskPressure: i&2 > 0, PIDPressure: i&4 > 0})
	}
	return all
}

func pressures(f kubelet.Faults) (count int) {
	for _, pressed := range []bool{f.MemoryPressure, f.DiskPressure, f.PIDPressure} {
		if pressed {
			count++
		}
	}
	return count
}

// inOrder sorts the conditions that a message lists in brackets.
func inOrder(message string) string {
	before, rest, found := strings.Cut(message, "[")
	list, after, _ := strings.Cut(rest, "]")
	if !found {
		return message
	}
	names := strings.Fields(list)
	slices.Sort(names)
	return before + "[" + strings.Join(names, " ") + "]" + after
}

// admittedUnder returns what a node under pressure first writes of a pod.
func admittedUnder(t *testing.T, faults kubelet.Faults, pod *corev1.Pod) corev1.PodStatus {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hollowNode}}
	fleet, _ := new(kubeletWorld).frozen(t, node)
	fleet.SetFaults(epoch, hollowNode, faults)
	fleet.ObservePod(epoch, pod)
	for {
		task, ok := fleet.Start(epoch)
		require.True(t, ok, "nothing is written of the pod")
		if task.Pod != nil {
			return task.Status
		}
		fleet.Finish(epoch, task, kubelet.ResultDone) // the node reports its pressure
	}
}

// pressedPod is of any quality of service and priority, and tolerates this or
// that.
func (d dice) pressedPod() *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: types.UID(fmt.Sprint(d.IntN(1000)))},
		Spec:       corev1.PodSpec{NodeName: hollowNode, Containers: []corev1.Container{{Name: "c", Image: shownImage}}},
	}
	if d.oneIn(2) {
		pod.Spec.Containers[0] = d.demandingContainer("c")
		pod.Spec.Containers[0].Ports = nil
	}
	if d.oneIn(2) {
		pod.Spec.Priority = new(pick[int32](d, -1, 0, 1_000_000_000, 1_999_999_999, 2_000_000_000, 2_000_001_000))
	}
	pod.Spec.Tolerations = some(d, 2, func() corev1.Toleration {
		return corev1.Toleration{
			Key:      pick(d, corev1.TaintNodeMemoryPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, ""),
			Operator: corev1.TolerationOpExists,
			Effect:   pick(d, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		}
	})
	pod.Status.QOSClass = qos.ComputePodQOS(pod) // by the API server
	return pod
}

// scarce is a machine that lacks what the faults say.
type scarce kubelet.Faults

// manager measures the machine, with a threshold of 100 for each resource.
func (s scarce) manager() (eviction.Manager, lifecycle.PodAdmitHandler) {
	var thresholds []evictionapi.Threshold
	for _, signal := range []evictionapi.Signal{
		evictionapi.SignalMemoryAvailable, evictionapi.SignalNodeFsAvailable, evictionapi.SignalPIDAvailable,
	} {
		thresholds = append(thresholds, evictionapi.Threshold{Signal: signal, Operator: evictionapi.OpLessThan,
			Value: evictionapi.ThresholdValue{Quantity: resource.NewQuantity(100, resource.DecimalSI)}})
	}
	return eviction.NewManager(s, eviction.Config{PressureTransitionPeriod: 5 * time.Minute, Thresholds: thresholds},
		func(*corev1.Pod, bool, *int64, func(*corev1.PodStatus)) error { return nil }, nothingToCollect{}, nothingToCollect{},
		&record.FakeRecorder{}, &corev1.ObjectReference{}, clock.RealClock{}, false)
}

// Get implements stats.SummaryProvider.
func (s scarce) Get(context.Context, bool) (*statsapi.Summary, error) {
	now, available := metav1.Now(), func(scarce bool) *uint64 {
		if scarce {
			return new(uint64(50))
		}
		return new(uint64(500))
	}
	processes := int64(500)
	if s.PIDPressure {
		processes = 950
	}
	return &statsapi.Summary{Node: statsapi.NodeStats{
		Memory: &statsapi.MemoryStats{Time: now, AvailableBytes: available(s.MemoryPressure),
			WorkingSetBytes: new(uint64(1))},
		Fs: &statsapi.FsStats{Time: now, AvailableBytes: available(s.DiskPressure), CapacityBytes: new(uint64(1000)),
			InodesFree: new(uint64(1000)), Inodes: new(uint64(1000))},
		Rlimit: &statsapi.RlimitStats{Time: now, MaxPID: new(int64(1000)), NumOfRunningProcesses: &processes},
	}}, nil
}

// GetCPUAndMemoryStats implements stats.SummaryProvider.
func (s scarce) GetCPUAndMemoryStats(ctx context.Context) (*statsapi.Summary, error) {
	return s.Get(ctx, false)
}

// oneDisk is a machine with one file system for everything.
type oneDisk struct{}

func (oneDisk) HasDedicatedImageFs(context.Context) (bool, error)     { return false, nil }
func (oneDisk) HasDedicatedContainerFs(context.Context) (bool, error) { return false, nil }

type nothingToCollect struct{}

func (nothingToCollect) DeleteUnusedImages(context.Context) error        { return nil }
func (nothingToCollect) DeleteAllUnusedContainers(context.Context) error { return nil }
