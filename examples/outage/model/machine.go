package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Machine is a node with its kubelet. Its pods run on whether it reaches the
// API server or not.
type Machine struct {
	Name, Zone, Rack string
	// Pool and Group are what a scenario calls it by, empty if that does not.
	Pool, Group string

	labels map[string]string // of its node, besides those that every node has
	world  *World
	number int // in the order in which machines were added
	random *rand.Rand
	// silent counts what keeps it from the API server.
	silent int
	// notReady and pressured count what makes its kubelet say so.
	notReady, pressured int
	skew                time.Duration // of its clock
	// renewals are what it writes into its lease instead of the time; the last
	// counts.
	renewals []*renewal
	// registered is the UID of the node object that it stands for, empty while it
	// is not registered.
	registered types.UID
	reported   time.Duration // when its status was reported last, or never
	// LastBeat is when the API server was told last that it lives: by its lease,
	// or by conditions of its node with a new time.
	LastBeat time.Duration
	// LastRenewal is when its lease was renewed last, Beats how often.
	LastRenewal time.Duration
	Beats       int
	// LastTry is when its kubelet, not cut off, last tried to renew the lease,
	// whether the API server was there or not.
	LastTry time.Duration
	beat    func()

	// node and lease are what the API server has of it. With agreed the kubelet
	// has found its status to be right.
	node, agreed *corev1.Node
	lease        *lease
	pods         []*podRecord // that are bound to it
}

const (
	// orphanedPodsStay is how long pods outlive their node. Upstream's garbage
	// collector comes every 20 s and waits for 40 s.
	orphanedPodsStay = time.Minute
	// never is no time.
	never = time.Duration(-1)
)

// conditions that a kubelet reports.
var conditions = [...]corev1.NodeConditionType{
	corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady,
}

// AddMachine adds a machine that has been there for long: its node is ready and
// has no taints.
func (w *World) AddMachine(name, zone, rack string) *Machine {
	m := &Machine{Name: name, Zone: zone, Rack: rack, world: w, number: len(w.machines),
		random: w.Network.Random("machine/" + name), LastBeat: w.Elapsed(), LastRenewal: w.Elapsed(), LastTry: w.Elapsed()}
	w.machines = append(w.machines, m)
	w.machine[name] = m
	m.takeIn()
	m.register()
	m.report()
	w.kubelets.Start(m)
	return m
}

// Machines returns the machines in the order in which they were added.
func (w *World) Machines() []*Machine { return w.machines }

// Machine returns a machine by its name, or nil.
func (w *World) Machine(name string) *Machine { return w.machine[name] }

// Clock is what the machine's own clock shows.
func (m *Machine) Clock() time.Time { return m.world.Now().Add(m.skew) }

// Reaches reports whether what the kubelet sends gets to the API server.
func (m *Machine) Reaches() bool { return m.silent == 0 && m.world.reach.down == 0 }

// Registered returns the UID of the machine's node, or nothing if it has none.
func (m *Machine) Registered() types.UID { return m.registered }

// admission is the taint that the API server's admission gives a new node.
// Source: plugin TaintNodesByCondition of kube-apiserver v1.37,
// plugin/pkg/admission/nodetaint.
var admission = corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}

// register makes the machine's node.
func (m *Machine) register(taints ...corev1.Taint) {
	w := m.world
	m.registered = types.UID(fmt.Sprintf("%s-%d", m.Name, w.nextSerial()))
	m.reported = never
	labels := map[string]string{
		corev1.LabelTopologyZone:  m.Zone,
		corev1.LabelOSStable:      "linux",
		"beta.kubernetes.io/os":   "linux",
		corev1.LabelArchStable:    "amd64",
		"beta.kubernetes.io/arch": "amd64",
	}
	maps.Copy(labels, m.labels)
	w.putNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:              m.Name,
		UID:               m.registered,
		CreationTimestamp: metav1.NewTime(w.Now().Truncate(time.Second)),
		Labels:            labels,
	}, Spec: corev1.NodeSpec{Taints: taints}})
}

// Label gives the machine's node a label, also when it registers again.
func (m *Machine) Label(key, value string) {
	if m.labels == nil {
		m.labels = make(map[string]string)
	}
	m.labels[key] = value
	m.Edit(func(node *corev1.Node) {
		node.Labels = maps.Clone(node.Labels)
		node.Labels[key] = value
	})
}

// status is what the kubelet says of one of its conditions.
func (m *Machine) status(kind corev1.NodeConditionType) corev1.ConditionStatus {
	holds := false
	switch kind {
	case corev1.NodeReady:
		holds = m.notReady == 0
	case corev1.NodeMemoryPressure:
		holds = m.pressured > 0
	}
	if holds {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// report writes the status.
func (m *Machine) report() {
	before := m.node
	after := *before
	now := metav1.NewTime(m.Clock().Truncate(time.Second))
	after.Status.Conditions = make([]corev1.NodeCondition, len(conditions))
	for i, kind := range conditions {
		c := corev1.NodeCondition{Type: kind, Status: m.status(kind), Reason: "Kubelet", LastHeartbeatTime: now,
			LastTransitionTime: now}
		if old := condition(before, kind); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		after.Status.Conditions[i] = c
	}
	m.reported = m.world.Elapsed()
	m.world.putNode(&after)
}

// ShowsBeat reports whether a version of a node has another heartbeat than the
// one before.
func ShowsBeat(before, after *corev1.Node) bool {
	had, has := condition(before, corev1.NodeReady), condition(after, corev1.NodeReady)
	return has != nil && (had == nil || !had.LastHeartbeatTime.Equal(&has.LastHeartbeatTime))
}

func condition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// Silence cuts the machine off until restore is called.
func (m *Machine) Silence() (restore func()) {
	m.silent++
	m.world.reach.cutOffs++
	m.world.kubelets.Reached(m)
	return func() {
		m.silent--
		m.world.reach.cutOffs++
		if m.silent == 0 {
			m.world.After(time.Duration(m.random.Int64N(int64(time.Second))), func() {
				m.world.kubelets.Speak(m)
				m.world.kubelets.Reached(m)
			})
		}
	}
}

// Surface lets the kubelet of a machine that is cut off be heard once. It
// renews its lease, reports its status, and is as silent as before.
func (m *Machine) Surface() {
	silent := m.silent
	m.silent = 0
	m.world.kubelets.Speak(m)
	m.silent = silent
	m.world.kubelets.Reached(m)
}

// Fail makes the kubelet report that its node is not ready, until restore is
// called. It tells at once.
func (m *Machine) Fail() (restore func()) { return m.toggle(&m.notReady) }

// Press makes the kubelet report memory pressure, until restore is called.
func (m *Machine) Press() (restore func()) { return m.toggle(&m.pressured) }

func (m *Machine) toggle(count *int) (restore func()) {
	*count++
	m.agreed = nil
	m.world.kubelets.Speak(m)
	return func() {
		*count--
		m.agreed = nil
		m.world.kubelets.Speak(m)
	}
}

// StepClock sets the machine's clock.
func (m *Machine) StepClock(by time.Duration) (restore func()) {
	m.skew += by
	return func() { m.skew -= by }
}

// renewal returns what is written into a lease as its time, when it is now and
// the lease was renewed so often.
type renewal func(now time.Time, beats int) time.Time

// Renew makes the kubelet write another time into its lease.
func (m *Machine) Renew(as func(now time.Time, beats int) time.Time) (restore func()) {
	return network.During(&m.renewals, ptr.To(renewal(as)))
}

// renewTime is what the kubelet writes into its lease.
func (m *Machine) renewTime() time.Time {
	if n := len(m.renewals); n > 0 {
		return (*m.renewals[n-1])(m.Clock(), m.Beats)
	}
	return m.Clock()
}

// Unregister deletes the machine's node. Register makes another one, with the
// name of the first.
func (m *Machine) Unregister() (register func()) {
	if m.registered == "" {
		return func() {}
	}
	m.registered = ""
	m.world.dropNode(m.Name)
	return m.Register
}

// Register makes the node of a machine that has none.
func (m *Machine) Register() {
	if m.registered == "" && m.world.Node(m.Name) == nil {
		m.register(admission)
		m.world.kubelets.Speak(m)
		m.world.kubelets.Reached(m)
	}
}

// Edit changes the machine's node as a client with the rights would. The change
// must replace what it changes, not modify it.
func (m *Machine) Edit(change func(*corev1.Node)) {
	before := m.world.Node(m.Name)
	if before == nil {
		return
	}
	after := *before
	change(&after)
	m.world.putNode(&after)
}

// EditIf changes the machine's node unless the node is as it should be.
func (m *Machine) EditIf(wrong func(*corev1.Node) bool, change func(*corev1.Node)) {
	if node := m.world.Node(m.Name); node != nil && wrong(node) {
		m.Edit(change)
	}
}

// NodeReady reports whether a node says that it is ready.
func NodeReady(node *corev1.Node) bool { return ReadyStatus(node) == corev1.ConditionTrue }

// ReadyStatus returns what a node's condition Ready says; empty if it has none.
func ReadyStatus(node *corev1.Node) corev1.ConditionStatus {
	if ready := condition(node, corev1.NodeReady); ready != nil {
		return ready.Status
	}
	return ""
}

// PodReady reports whether a pod says that it is ready.
func PodReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// withCondition returns a copy of a pod with that condition.
func withCondition(pod *corev1.Pod, c corev1.PodCondition) *corev1.Pod {
	after := *pod
	after.Status.Conditions = slices.Clone(pod.Status.Conditions)
	for i := range after.Status.Conditions {
		if after.Status.Conditions[i].Type == c.Type {
			after.Status.Conditions[i] = c
			return &after
		}
	}
	after.Status.Conditions = append(after.Status.Conditions, c)
	return &after
}

// collectPod deletes a pod if there is still no node of the name.
func (w *World) collectPod(pod *corev1.Pod) {
	if now := w.Pod(pod.Name); now != nil && now.UID == pod.UID && w.Node(pod.Spec.NodeName) == nil {
		w.dropPod(pod.Name)
	}
}

// collectPods deletes the pods of a node that does not exist any more.
func (w *World) collectPods(node string) {
	if w.Node(node) != nil {
		return
	}
	for _, record := range slices.Clone(w.machine[node].pods) {
		w.dropPod(record.object.Name)
	}
}
