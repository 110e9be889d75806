package main

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
)

// demoTaint is the key of the taints that the script sets.
const demoTaint = "maintenance"

func nodeName(i int) string { return fmt.Sprintf("node-%02d", i) }

// addNodes makes the nodes of these numbers.
func (p *play) addNodes(from, to int) error {
	var nodes []runtime.Object
	for i := from; i <= to; i++ {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), Labels: map[string]string{corev1.LabelHostname: nodeName(i)},
		}})
	}
	return p.Create(simulation.NodeResource, nodes...)
}

// taint gives the nodes of these numbers a taint. No effect removes it.
func (p *play) taint(effect corev1.TaintEffect, from, to int) error {
	patch := []byte(`{"spec":{"taints":null}}`)
	if effect != "" {
		patch = fmt.Appendf(nil, `{"spec":{"taints":[{"key":%q,"effect":%q}]}}`, demoTaint, effect)
	}
	var nodes []string
	for i := from; i <= to; i++ {
		nodes = append(nodes, nodeName(i))
	}
	return p.Patch(simulation.NodeResource, types.MergePatchType, patch, nodes...)
}

// newSets returns the sets, as they are created.
func newSets() (sets []runtime.Object) {
	for _, set := range demoSets {
		labels := map[string]string{"app": set.name}
		limit, none := ptr.To(intstr.FromInt32(demoLimit)), ptr.To(intstr.FromInt32(0))
		update := &appsv1.RollingUpdateDaemonSet{MaxUnavailable: limit, MaxSurge: none}
		if set.surges {
			update.MaxUnavailable, update.MaxSurge = none, limit
		}
		created := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: set.name}}
		created.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		created.Spec.Template.Labels = labels
		created.Spec.Template.Spec.Containers = []corev1.Container{{Name: set.name, Image: set.name + ":" + firstImage}}
		created.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
		created.Spec.UpdateStrategy.RollingUpdate = update
		created.Spec.RevisionHistoryLimit = ptr.To(int32(10))
		sets = append(sets, created)
	}
	return sets
}

// rollOut gives each set another image.
func (p *play) rollOut(image string) error {
	return p.patchSets(func(set string) ([]byte, error) {
		return fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":"%s:%s"}]}}}}`,
			set, set, image), nil
	})
}

var errNoRevision = errors.New("the set has no such revision")

// rollBack does what kubectl rollout undo --to-revision does: it applies the
// data of a revision as a patch.
func (p *play) rollBack(number int64) error {
	return p.patchSets(func(set string) ([]byte, error) {
		for _, revision := range p.seen.revisions {
			if revision.Revision == number && ownerOf(revision) == set {
				return revision.Data.Raw, nil
			}
		}
		return nil, fmt.Errorf("roll %s back to revision %d: %w", set, number, errNoRevision)
	})
}

func (p *play) patchSets(patchOf func(set string) ([]byte, error)) error {
	for _, set := range demoSets {
		patch, err := patchOf(set.name)
		if err != nil {
			return err
		}
		if err := p.Patch(simulation.SetResource, types.StrategicMergePatchType, patch, set.name); err != nil {
			return err
		}
	}
	return nil
}
