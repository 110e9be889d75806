package simulation

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// edits are the changes that administrators make to nodes for a while. Of those
// of one kind that overlap on a machine the last one counts. A node is as it
// was only when all have ended: none takes back what another still wants.
type edits struct {
	zones   map[*model.Machine][]*string
	cordons map[*model.Machine][]*bool
	taints  map[taintOn][]*corev1.Taint
}

// taintOn is a taint of a machine by what makes it the same: its key and
// effect.
type taintOn struct {
	machine *model.Machine
	key     string
	effect  corev1.TaintEffect
}

func newEdits() edits {
	return edits{
		zones:   make(map[*model.Machine][]*string),
		cordons: make(map[*model.Machine][]*bool),
		taints:  make(map[taintOn][]*corev1.Taint),
	}
}

// during makes an edit count until end is called. Apply is called with the one
// that counts, or nil when there is none any more, whenever that changes.
func during[K comparable, E any](all map[K][]*E, key K, edit *E, apply func(*E)) (end func()) {
	all[key] = append(all[key], edit)
	apply(edit)
	return func() {
		i := slices.Index(all[key], edit)
		all[key] = slices.Delete(all[key], i, i+1)
		switch last := len(all[key]) - 1; {
		case last < 0:
			delete(all, key)
			apply(nil)
		case i > last:
			apply(all[key][last])
		}
	}
}

// move brings a machine to another zone.
func (e *edits) move(m *model.Machine, zone string) (back func()) {
	return during(e.zones, m, &zone, func(zone *string) {
		m.Edit(func(node *corev1.Node) {
			node.Labels = maps.Clone(node.Labels)
			node.Labels[corev1.LabelTopologyZone] = m.Zone
			if zone != nil {
				node.Labels[corev1.LabelTopologyZone] = *zone
			}
		})
	})
}

func (e *edits) cordon(m *model.Machine) (uncordon func()) {
	return during(e.cordons, m, ptr.To(true), func(cordoned *bool) {
		m.Edit(func(node *corev1.Node) { node.Spec.Unschedulable = cordoned != nil })
	})
}

// taint adds an administrator's taint, in the place of one that is the same.
func (e *edits) taint(m *model.Machine, taint *corev1.Taint) (remove func()) {
	key := taintOn{m, taint.Key, taint.Effect}
	return during(e.taints, key, taint, func(counts *corev1.Taint) {
		m.Edit(func(node *corev1.Node) {
			node.Spec.Taints = without(node.Spec.Taints, taint)
			if counts != nil {
				node.Spec.Taints = append(node.Spec.Taints, *counts)
			}
		})
	})
}

func without(taints []corev1.Taint, taint *corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool {
		return t.Key == taint.Key && t.Effect == taint.Effect
	})
}

// taint returns the taint that a step is about, as it would be added now.
func (s *Simulation) taint(description *scenario.Taint) *corev1.Taint {
	return &corev1.Taint{
		Key: description.Key, Value: description.Value, Effect: corev1.TaintEffect(description.Effect),
		TimeAdded: s.timeAdded(description),
	}
}

func (s *Simulation) timeAdded(description *scenario.Taint) *metav1.Time {
	added := s.world.Now()
	switch description.TimeAdded {
	case "missing":
		return nil
	case "", "now":
	default:
		off, err := time.ParseDuration(description.TimeAdded)
		if err != nil {
			panic(err) // Validate has read it
		}
		added = added.Add(off)
	}
	return &metav1.Time{Time: added.Truncate(time.Second)}
}
