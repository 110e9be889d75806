package simulation

import (
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/outage/daemonsets"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// daemonSets are the DaemonSets of a scenario whose pods the DaemonSet controller
// makes, and that controller.
type daemonSets struct {
	world   *model.World
	process *daemonsets.Process
}

// placedLabel is on the nodes where a DaemonSet begins, if it does not begin on
// all. The set selects them by it.
const placedLabel = "daemonset.outage.example/"

// add makes the object of a workload. Its pods, which the caller places, are of
// its present revision.
func (d *daemonSets) add(workload *scenario.Workload) (*model.Workload, error) {
	owner := d.world.AddWorkload(workload.Name, model.ByProcess, tolerations(workload))
	set := daemonsets.NewSet(workload.Name, corev1.Container{Name: "agent", Image: "agent:1"})
	set.Spec.Template.Spec.Tolerations = owner.Tolerations
	if len(workload.Placed) > 0 {
		set.Spec.Template.Spec.NodeSelector = map[string]string{placedLabel + workload.Name: ""}
	}
	created, err := d.create(set)
	if err != nil {
		return nil, fmt.Errorf("create DaemonSet %s: %w", workload.Name, err)
	}
	owner.BelongsTo(
		*metav1.NewControllerRef(created, appsv1.SchemeGroupVersion.WithKind("DaemonSet")),
		map[string]string{revision.HashLabel: revision.Hash(&created.Spec.Template, nil)})
	return owner, nil
}

// create returns the set with what the API server has given it.
func (d *daemonSets) create(set *appsv1.DaemonSet) (*appsv1.DaemonSet, error) {
	created, err := d.world.Users().Server.Create(
		d.world.Now(), network.DaemonSets.Resource(), model.Namespace, set, apiserver.WriteOptions{})
	if err != nil {
		return nil, err
	}
	stored, ok := created.(*appsv1.DaemonSet)
	if !ok {
		return nil, fmt.Errorf("the API server has made a %T of it", created)
	}
	return stored, nil
}

// keepTo makes a set that was placed keep to the nodes where it begins.
func (d *daemonSets) keepTo(placed *model.Workload) {
	for _, pod := range placed.Pods() {
		d.world.Machine(pod.Spec.NodeName).Label(placedLabel+placed.Name, "")
	}
}

// start starts the controller.
func (d *daemonSets) start() (err error) {
	d.process, err = daemonsets.Start(d.world, daemonsets.Config{Name: "daemonset-controller", Life: 1})
	return err
}

// rollOut changes the image of a set, as a user does.
func (d *daemonSets) rollOut(step *scenario.RollOut, at time.Duration) {
	unavailable := intstr.FromInt32(int32(step.MaxUnavailable))
	patch, err := json.Marshal([]map[string]any{
		{"op": "add", "path": "/spec/updateStrategy/rollingUpdate", "value": appsv1.RollingUpdateDaemonSet{
			MaxUnavailable: &unavailable,
		}},
		{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "agent:" + at.String()},
	})
	if err == nil {
		err = d.world.Users().Patch(network.DaemonSets.Resource(), types.JSONPatchType, patch, step.Workload)
	}
	if err != nil {
		panic(fmt.Sprintf("simulation: roll out %s: %v", step.Workload, err))
	}
}
