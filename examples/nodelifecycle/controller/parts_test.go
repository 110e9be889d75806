package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// parts are those of a controller, for tests that tell one of them what happens
// without the whole.
type parts struct {
	*view

	now time.Time
}

func newParts(t *testing.T, config Config) *parts {
	config.ZoneOf = func(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] }
	w := newWorld(t, config)
	c, err := New(w.config, w.now)
	require.NoError(t, err)
	return &parts{&c.view, w.now}
}

// node is a node of zone a, as it is reported now.
func (p *parts) node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: p.now.Format("150405"),
			Labels: map[string]string{corev1.LabelTopologyZone: "a"},
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.NewTime(p.now),
		}}},
	}
}

func (p *parts) lease(name, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version},
		Spec:       coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NewMicroTime(p.now))},
	}
}

// add adds a node to objects, silences and releases.
func (p *parts) add(name string, ready corev1.ConditionStatus) *node {
	n := p.objects.addNode(name)
	p.show(n, p.node(name, ready))
	return n
}

// show shows those parts a node as it is now.
func (p *parts) show(n *node, object *corev1.Node) {
	n.object = object
	p.releases.setZone(p.now, n)
	p.objects.setReady(p.now, n)
	p.silences.health.ObserveNode(p.now, object)
}
