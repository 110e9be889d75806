// Package fleet is nodes for tests and measurements on a real API server. Their
// kubelets are those of examples/hollownode. What is added here is how a test
// sets them up and cuts them off, and what happened to them.
package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// A Fleet is nodes that live until they are cut off. Their reports do not
// depend on their leases, as with kubelets. Its methods may be called
// concurrently.
type Fleet struct {
	client   kubernetes.Interface
	kubelets *runner.Runner
	nodes    map[string][]string // by zone
}

// Name is the user agent of all requests, and the value of runner.Label.
const Name = "fleet"

// New registers the nodes of a fleet, so many in each zone. They are silent until
// Run. Their heartbeats are an interval apart, and within it they report again
// what another client has overwritten. The access must not throttle.
func New(
	ctx context.Context, access *rest.Config, zones map[string]int, interval time.Duration,
) (*Fleet, error) {
	f := &Fleet{nodes: map[string][]string{}}
	var err error
	if f.client, err = newClient(access); err != nil {
		return nil, err
	}
	beating, err := newClient(access)
	if err != nil {
		return nil, err
	}
	if f.kubelets, err = runner.NewRunner(runner.Config{
		Acting: f.client, Watching: f.client, Beating: beating, Fleet: Name, SeparateReports: true,
		Heartbeat: heartbeat.Config{
			LeaseDuration:  4 * interval,
			RenewInterval:  interval,
			StatusInterval: interval,
			ReportInterval: 30 * interval,
		},
	}); err != nil {
		return nil, err
	}
	var nodes []*corev1.Node
	for zone, n := range zones {
		for i := range n {
			node := Node(Name, zone, fmt.Sprintf("%s-%04d", zone, i))
			f.nodes[zone] = append(f.nodes[zone], node.Name)
			nodes = append(nodes, node)
		}
	}
	return f, Register(ctx, f.client, nodes...)
}

// newClient returns a client with a connection of its own. client-go shares one
// between clients whose configs differ in nothing.
func newClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = Name
	config.Dial = (&net.Dialer{}).DialContext
	return kubernetes.NewForConfig(config)
}

// Node is a node as its kubelet would register it. It is run by the fleet that
// has the name, which the label of hollow nodes says. Without one of these
// resources a kubelet is not ready.
func Node(fleet, zone, name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(4, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(8<<30, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(64<<30, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(110, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			runner.Label:              fleet,
			corev1.LabelTopologyZone:  zone,
			corev1.LabelHostname:      name,
			corev1.LabelOSStable:      "linux",
			"beta.kubernetes.io/os":   "linux",
			corev1.LabelArchStable:    "amd64",
			"beta.kubernetes.io/arch": "amd64",
		}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
}

// Register creates nodes.
func Register(ctx context.Context, client kubernetes.Interface, nodes ...*corev1.Node) error {
	return sidebyside.ToEach(nodes, func(ctx context.Context, node *corev1.Node) error {
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("register node %s: %w", node.Name, err)
		}
		return nil
	})(ctx)
}

// Taint gives nodes taints in place of all others, or none. The API server gives
// each new node one, which would be a node lifecycle controller's to remove.
func Taint(ctx context.Context, client kubernetes.Interface, nodes []string, taints ...corev1.Taint) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
	if err != nil {
		return err
	}
	return sidebyside.ToEach(nodes, func(ctx context.Context, node string) error {
		_, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("taint node %s: %w", node, err)
		}
		return nil
	})(ctx)
}

// Run is the kubelets of the nodes until ctx ends. It must be called once.
func (f *Fleet) Run(ctx context.Context) error { return f.kubelets.Run(ctx) }

// Nodes returns the names of a zone's nodes.
func (f *Fleet) Nodes(zone string) []string { return f.nodes[zone] }

// AllNodes returns the names of all nodes, each next to those of other zones.
func (f *Fleet) AllNodes() []string {
	var all []string
	for _, zone := range slices.Sorted(maps.Keys(f.nodes)) {
		all = append(all, f.nodes[zone]...)
	}
	number := func(name string) string { return name[strings.LastIndexByte(name, '-'):] }
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return all
}

// Cut cuts nodes off from the API server. Their pods go on.
func (f *Fleet) Cut(names ...string) { f.kubelets.SetSilent(true, names...) }

// Restore makes nodes speak again, at once.
func (f *Fleet) Restore(names ...string) { f.kubelets.SetSilent(false, names...) }
