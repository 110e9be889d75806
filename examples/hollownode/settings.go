package main

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// settings are all flags.
type settings struct {
	process commandline.Process
	replica commandline.Replica

	fleet, prefix   string
	nodes, zones    int
	labels, sizes   map[string]string
	taintTexts      []string
	listPerNode     bool
	concurrentCalls int
	podCIDR         string
	manifestPath    string
	fileCheck       time.Duration
	events          bool
	eventQPS        int32
	eventBurst      int32

	taints     []corev1.Taint
	capacity   corev1.ResourceList
	staticPods []*corev1.Pod
}

const intro = `hollownode runs the kubelets of thousands of nodes in one process. Their
containers run nothing. Pods are admitted, synced, probed, restarted and
finished as on real nodes, and nodes send heartbeats.

Not here: eviction by pressure, graceful shutdown, preemption, in-place resize,
dynamic resources, ephemeral containers, cgroups, collection of images,
certificates, exec and logs.

  hollownode                                         a demonstration, on a
                                                     cluster in memory
  hollownode --kubeconfig FILE --nodes 2000 --zones 4
                                                     2,000 nodes register
  kubectl label node NAME hollownode.kubelife.dev/fleet=default
                                                     a Node of your own joins

What is to go wrong is an annotation. Append - to its name to take it away.
  kubectl annotate node hollow-00007 hollownode.kubelife.dev/silent=
Of a Node, on without a value
  silent              no heartbeats, no reports, and no news of pods
  runtime-down        the container runtime gives no answer
  network-down        pods have no network
  memory-pressure, disk-pressure, pid-pressure
Of a Node, with a value
  boot=2              reboots when the value changes; kubelet-start=2 restarts
                      the kubelet, which restarts no container
  api-latency=2s, api-failures=0.3
                      all its calls are slow, or a part of them fails: those
                      about pods, its registration, lease and status. From 10s
                      on its heartbeats time out.
  clock-skew=-5m      the clock of its lease and of the conditions of its Node
Of a Pod (NAME.hollownode.kubelife.dev/... is for one container)
  run-time=5s,1m      each run ends by itself; exit-code=1,0
  pull-time, pull-failures, start-time, start-failures, stop-time, stop-code
  startup-time, ready-time, live-time
                      when its probes succeed, and fail
  post-start-time, post-start-failures, pre-stop-time, sandbox-time,
  sandbox-failures, mount-time, mount-failures, unmount-time, unmount-failures
  crash=main:1        exits when the value changes while this process runs

What nodes have of that
  kubectl get nodes -o wide
                      in OS-IMAGE, except silent, boot and kubelet-start
  kubectl get nodes -o custom-columns=N:.metadata.name,A:.metadata.annotations
                      all annotations, also of silent nodes
kubectl describe shows an annotation that is unknown or has a wrong value.

With --pod-manifest-path each node also runs static pods. A mirror pod shows
each, and comes again when it is deleted. Of the annotations above it heeds
crash, and the manifest has the others.

What kubelets tell, kubectl describe and kubectl get events show. With thousands
of nodes most of it is dropped, unless --event-qps is more.

A process that ends, however it ends, and starts again restarts no container.
Nodes stay, and with fewer --nodes it still runs all that have the label. To
delete them when it has ended:
  kubectl delete nodes -l hollownode.kubelife.dev/fleet=default

While it runs, --secure-port answers callers that may get these paths
  /metrics            Prometheus metrics
  /healthz /readyz    for probes, to every caller
`

// mostNodes bounds the numbers of names.
const mostNodes = 99_999

// Source: pkg/kubelet/apis/config/v1beta1/defaults.go, v1.37.1. They hold for
// the fleet, though a kubelet has them to itself. An Event stays for an hour,
// so at 50 a second 180,000 are stored at most. Without a limit those of 50,000
// pods that start would be more than all other writes.
const defaultEventQPS, defaultEventBurst = 50, 100

// AddFlags adds the program's own flags.
func (s *settings) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.fleet, "fleet", "default", "The nodes with this value of the label "+runner.Label+" are run.")
	flags.IntVar(&s.nodes, "nodes", 0, "How many nodes register. Others may have the label as well.")
	flags.IntVar(&s.zones, "zones", 1, "Over how many zones the nodes that register are spread.")
	flags.StringVar(&s.prefix, "name-prefix", "hollow", "What the names of the nodes that register begin with.")
	flags.StringToStringVar(&s.labels, "node-labels", nil, "More labels of the nodes that register.")
	flags.StringSliceVar(&s.taintTexts, "register-with-taints", nil,
		"Taints of the nodes that register, each KEY=VALUE:EFFECT.")
	flags.StringToStringVar(&s.sizes, "capacity", nil, "What a node has of a resource when its object does not "+
		"say it, for example cpu=8,example.com/gpu=2. Pods that it has no room for are rejected. "+
		"What is not named stays cpu=32,memory=256Gi,ephemeral-storage=1Ti,pods=110.")
	flags.BoolVar(&s.listPerNode, "list-per-node", false, "Each start of a kubelet has its pods streamed, as kubelets "+
		"do: the load of a restart of all nodes.")
	flags.StringVar(&s.podCIDR, "pod-cidr", "10.0.0.0/8",
		"From which network pods get their IPs. Each fleet of a cluster needs one of its own.")
	flags.StringVar(&s.manifestPath, "pod-manifest-path", "",
		"A file with static pods, or a folder of such files. Each node runs each of them, and a mirror pod shows it.")
	flags.DurationVar(&s.fileCheck, "file-check-frequency", 20*time.Second,
		"How often --pod-manifest-path is read again. What is wrong then is logged and changes nothing.")
	flags.BoolVar(&s.events, "events", true, "Record as Events what kubelets tell about pods and nodes, for kubectl "+
		"describe and kubectl get events.")
	flags.Int32Var(&s.eventQPS, "event-qps", defaultEventQPS, "Events a second of all nodes together, as many as one "+
		"kubelet may write. A thousand wait, and more are dropped. 0 is no limit.")
	flags.Int32Var(&s.eventBurst, "event-burst", defaultEventBurst, "Events that may come at once. 0 is 100.")
	flags.IntVar(&s.concurrentCalls, "concurrent-calls", 32, "How many calls run at a time, heartbeats apart.")
	s.replica.LeaderElection.AddFlags(flags)
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (s *settings) Check(c *commandline.Checks) {
	c.That(s.fleet != "" && len(validation.IsValidLabelValue(s.fleet)) == 0,
		"--fleet is %q, want the value of a label", s.fleet)
	c.That(s.nodes >= 0 && s.nodes <= mostNodes, "--nodes is %d, want 0 to %d", s.nodes, mostNodes)
	c.That(s.zones > 0, "--zones is %d, want at least 1", s.zones)
	c.That(len(validation.IsDNS1123Label(s.prefix)) == 0, "--name-prefix is %q, want lower case letters, digits and -",
		s.prefix)
	for key, value := range s.labels {
		c.That(len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) == 0,
			"--node-labels has %q=%q, want a label", key, value)
	}
	s.taints = nil
	for _, text := range s.taintTexts {
		taint, err := parseTaint(text)
		c.That(err == nil, "--register-with-taints: %w", err)
		s.taints = append(s.taints, taint)
	}
	s.capacity = nil
	if len(s.sizes) > 0 {
		s.capacity = corev1.ResourceList{}
	}
	for name, text := range s.sizes {
		size, err := resource.ParseQuantity(text)
		c.That(err == nil && size.Sign() >= 0, "--capacity has %s=%q, want a quantity", name, text)
		s.capacity[corev1.ResourceName(name)] = size
	}
	err := cri.ValidatePodNetwork(s.podCIDR)
	c.That(err == nil, "--pod-cidr: %w", err)
	s.staticPods = nil
	if s.manifestPath != "" {
		pods, err := readStaticPods(s.manifestPath)
		c.That(err == nil, "--pod-manifest-path: %w", err)
		s.staticPods = pods
	}
	c.That(s.fileCheck > 0, "--file-check-frequency is %v, want more than 0", s.fileCheck)
	c.That(s.eventQPS >= 0, "--event-qps is %d, want at least 0", s.eventQPS)
	c.That(s.eventBurst >= 0, "--event-burst is %d, want at least 0", s.eventBurst)
	s.limitEvents()
	c.That(s.concurrentCalls > 0, "--concurrent-calls is %d, want at least 1", s.concurrentCalls)
	s.replica.LeaderElection.Check(c)
}

// limitEvents makes the flags limit the requests about events.
func (s *settings) limitEvents() {
	s.replica.EventQPS, s.replica.EventBurst = float32(s.eventQPS), int(s.eventBurst)
	if s.eventQPS == 0 {
		s.replica.EventQPS = -1 // no limit
	}
	if s.eventBurst == 0 {
		s.replica.EventBurst = defaultEventBurst
	}
}

// parseTaint reads KEY=VALUE:EFFECT. The value may be empty or left out.
func parseTaint(text string) (corev1.Taint, error) {
	rest, effect, found := strings.Cut(text, ":")
	key, value, _ := strings.Cut(rest, "=")
	taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		found = false
	}
	if !found || len(validation.IsQualifiedName(key)) > 0 {
		return taint, fmt.Errorf("%q, want KEY=VALUE:NoSchedule, :PreferNoSchedule or :NoExecute", text)
	}
	return taint, nil
}

// registering returns the nodes that register.
func (s *settings) registering() []*corev1.Node {
	nodes := make([]*corev1.Node, 0, s.nodes)
	for i := range s.nodes {
		name := fmt.Sprintf("%s-%05d", s.prefix, i+1)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%s.zones+1),
				corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			}},
			Spec: corev1.NodeSpec{Taints: s.taints},
		}
		maps.Copy(node.Labels, s.labels)
		nodes = append(nodes, node)
	}
	return nodes
}
