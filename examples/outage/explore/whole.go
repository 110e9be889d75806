package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	daemonset "github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/outage/daemonsets"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// whole is a world in which the DaemonSet controller runs beside node lifecycle
// and, in some worlds, the kubelets of hollownode.
type whole struct {
	model.Unimpressed

	world   *model.World
	random  *rand.Rand
	process *daemonsets.Process
	life    int
	err     error
	image   string
	made    int           // pods of the set
	last    time.Duration // when one was made or told to leave
}

// The DaemonSet of a whole world.
const (
	agent     = "node-agent"
	agentName = "daemonset-controller"
)

// RunWhole runs the random scenario of a seed with a DaemonSet and its
// controller in it. It returns what the judge of node lifecycle finds, and what
// a user would say of the DaemonSet when all faults are over.
func RunWhole(seed uint64) ([]string, error) {
	description := Generate(seed)
	s, err := simulation.New(description)
	if err != nil {
		return nil, fmt.Errorf("run scenario: %w", err)
	}
	judge := s.Judge()
	w := &whole{world: s.World(), random: s.World().Random("whole"), image: "agent:1"}
	w.world.Watch(w)
	if err := w.begin(lastChange(description)); err != nil {
		return nil, err
	}
	s.Run()
	w.process.Abandon()
	judge.End()
	if w.err != nil {
		return nil, w.err
	}
	var found []string
	for _, violation := range judge.Violations() {
		found = append(found, violation.String())
	}
	return append(found, w.complaints(lastChange(description)+SettleTime(description))...), nil
}

// begin creates the set, and plans a rollout and the crashes of its controller
// while there are faults.
func (w *whole) begin(until time.Duration) error {
	set := daemonsets.NewSet(agent, corev1.Container{Name: "agent", Image: w.image})
	if err := w.world.Users().Create(network.DaemonSets.Resource(), set); err != nil {
		return err
	}
	w.start()
	moment := func() time.Duration { return time.Duration(w.random.Int64N(int64(until) + 1)) }
	w.world.At(moment(), w.rollOut)
	for range w.random.IntN(3) {
		w.world.At(moment(), func() {
			w.process.End("crash")
			w.world.After(time.Duration(w.random.IntN(30))*time.Second, w.start)
		})
	}
	return w.err
}

// start begins a life of the controller.
func (w *whole) start() {
	if w.process != nil && !w.process.Stopped() {
		return
	}
	w.life++
	process, err := daemonsets.Start(w.world, daemonsets.Config{
		Name: agentName, Life: w.life, Controller: daemonset.Config{},
	})
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.process = process
}

func (w *whole) rollOut() {
	w.image = "agent:2"
	patch := []byte(`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "agent:2"}]`)
	w.err = errors.Join(w.err, w.world.Users().Patch(network.DaemonSets.Resource(), types.JSONPatchType, patch, agent))
}

// WrotePod counts what happens to the pods of the set.
func (w *whole) WrotePod(write model.PodWrite) {
	switch before, after := write.Before, write.After; {
	case after == nil || model.WorkloadOf(after) != agent:
	case before == nil:
		w.made++
		w.last = w.world.Elapsed()
	case after.DeletionTimestamp != nil && before.DeletionTimestamp == nil:
		w.last = w.world.Elapsed()
	}
}

// complaints are what is wrong with the set at the end: a node that can run its
// pod has exactly one, which is ready, and new unless dead nodes use up what the
// rollout may make unavailable. And nothing happens any more from quiet on.
func (w *whole) complaints(quiet time.Duration) []string {
	var found []string
	if w.made == 0 {
		found = append(found, "no pod of the DaemonSet was ever made")
	}
	if w.last > quiet {
		found = append(found,
			fmt.Sprintf("a pod of the DaemonSet came or went at %v, after all was over at %v", w.last, quiet))
	}
	var old []string
	full := false // the limit of a rollout: one node without a pod that is ready
	for _, node := range w.world.Nodes() {
		pods := w.podsOn(node)
		ready := len(pods) == 1 && model.PodReady(pods[0])
		switch full = full || !ready; {
		case !model.NodeReady(node) || len(node.Spec.Taints) > 0:
		case !ready:
			found = append(found, fmt.Sprintf("node %s is ready and has %s", node.Name, described(pods)))
		case pods[0].Spec.Containers[0].Image != w.image:
			old = append(old, node.Name)
		}
	}
	if len(old) > 0 && !full {
		found = append(found, fmt.Sprintf("nodes %v still have the former version, and no node is without one", old))
	}
	return found
}

// podsOn returns the pods of the set on a node.
func (w *whole) podsOn(node *corev1.Node) []*corev1.Pod {
	return slices.DeleteFunc(w.world.PodsOn(node.Name), func(pod *corev1.Pod) bool {
		return model.WorkloadOf(pod) != agent
	})
}

func described(pods []*corev1.Pod) string {
	var each []string
	for _, pod := range pods {
		each = append(each, fmt.Sprintf("%s (%s, ready %v)", pod.Name, pod.Spec.Containers[0].Image, model.PodReady(pod)))
	}
	return fmt.Sprintf("%d pods of the DaemonSet: %v", len(pods), each)
}
