package edge

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// addHandlers makes the handlers. They are told of no own writes: the fleet
// knows which of its statuses the API server has.
func (e *Edge) addHandlers() error {
	nodes, nodeErr := feed.NewHandler(feed.Config[*corev1.Node]{
		Update: e.config.Observe, Seen: e.seenNode, Gone: e.goneNode,
	})
	pods, podErr := feed.NewHandler(feed.Config[*corev1.Pod]{
		Update: e.config.Observe, Seen: e.seenPod, Gone: e.gonePod,
	})
	e.Nodes, e.Pods = nodes, pods
	return errors.Join(nodeErr, podErr)
}

// MarkSynced tells that the handlers have been called for all that there is.
// The containers that were restored run on from here.
func (e *Edge) MarkSynced() {
	e.config.Observe(func(now time.Time) {
		e.synced = true
		e.config.Fleet.MarkSynced(now)
	})
}

func (e *Edge) seenNode(now time.Time, node *corev1.Node) {
	faults, err := e.faultsOf(node)
	e.tellProblem(node, err)
	was, known := e.faults[node.Name]
	e.faults[node.Name], e.nodes[node.Name] = faults, node
	e.config.Fleet.ObserveNode(now, node)
	if !known {
		for _, pod := range e.config.PodsOf(node.Name) {
			e.seenPod(now, pod)
		}
	}
	// The containers that it reboots have been restored before.
	e.setFaults(now, node, was, known)
}

// tellProblem tells what is wrong with the annotations of a node, if anything
// is. A node is observed with each of its reports, so the same is told once.
func (e *Edge) tellProblem(node *corev1.Node, err error) {
	if err == nil {
		delete(e.problems, node.Name)
		return
	}
	if told := err.Error(); e.problems[node.Name] != told {
		e.problems[node.Name] = told
		e.config.Problem(node, err)
	}
}

// faultsOf returns the faults that the annotations of a node and the caller
// want. The error is about the annotations.
func (e *Edge) faultsOf(node *corev1.Node) (kubelet.Faults, error) {
	faults, err := kubelet.ParseFaults(node)
	faults.Silent = faults.Silent || e.config.Silent(node.Name)
	return faults, err
}

// Recheck asks Config.Silent of nodes again, and without a name of all.
func (e *Edge) Recheck(nodes ...string) {
	e.config.Observe(func(now time.Time) {
		if len(nodes) == 0 {
			nodes = slices.Sorted(maps.Keys(e.nodes))
		}
		for _, name := range nodes {
			node, known := e.nodes[name]
			if !known {
				continue
			}
			was := e.faults[name]
			faults, _ := e.faultsOf(node) // the problem was told when it was seen
			if faults != was {
				e.faults[name] = faults
				e.setFaults(now, node, was, true)
			}
		}
	})
}

// setFaults makes the faults of a node hold that had others before.
func (e *Edge) setFaults(now time.Time, node *corev1.Node, was kubelet.Faults, known bool) {
	faults := e.faults[node.Name]
	e.config.Fleet.SetFaults(now, node.Name, faults)
	sender := e.sender(faults)
	beating := known && !was.Silent
	if known && e.isSlow(was) != e.isSlow(faults) {
		e.sender(was).Remove(node.Name)
		beating = false
	}
	switch {
	case faults.Silent:
		// A node that is silent from the beginning is not added: it would beat once.
		sender.Pause(node.Name)
	case !beating && sender.Resume(node.Name):
	case !beating:
		if err := sender.Add(e.beats(node)); err != nil {
			e.config.Problem(node, err)
		}
	case was.Boot != faults.Boot || was.String() != faults.String():
		sender.Changed(node.Name) // its status shows that
	}
}

// beats returns the heartbeats of a node.
func (e *Edge) beats(node *corev1.Node) heartbeat.Node {
	name := node.Name
	return heartbeat.Node{
		Name: name,
		UID:  node.UID,
		Status: func(context.Context) (status corev1.NodeStatus, err error) {
			e.config.View(func(now time.Time) {
				var known bool
				if status, known = e.config.Fleet.NodeStatus(now, name); !known {
					err = errUnknown
				}
			})
			return status, err
		},
	}
}

var errUnknown = errors.New("node has been forgotten")

func (e *Edge) goneNode(now time.Time, node *corev1.Node) {
	faults, known := e.faults[node.Name]
	if !known {
		return
	}
	delete(e.faults, node.Name)
	delete(e.nodes, node.Name)
	delete(e.problems, node.Name)
	e.sender(faults).Remove(node.Name)
	e.config.Fleet.ForgetNode(now, node.Name)
}

func (e *Edge) seenPod(now time.Time, pod *corev1.Pod) {
	if _, ours := e.faults[pod.Spec.NodeName]; !ours {
		return
	}
	known := e.config.Fleet.HasPod(pod.UID)
	if !e.synced {
		e.config.Runtime.Restore(now, pod.Spec.NodeName, inRuntime(pod))
	}
	e.config.Fleet.ObservePod(now, pod)
	e.crash(now, pod, known)
}

// inRuntime returns a pod as the runtime knows it. The containers that a mirror
// pod shows are those of its static pod.
func inRuntime(pod *corev1.Pod) *corev1.Pod {
	uid := kubelet.RuntimeUID(pod)
	if uid == pod.UID {
		return pod
	}
	static := *pod
	static.UID = uid
	return &static
}

// crash makes a container exit if the annotation has changed since the pod was
// first seen.
func (e *Edge) crash(now time.Time, pod *corev1.Pod, known bool) {
	value, found := pod.Annotations[cri.AnnotationDomain+"/"+cri.AnnotationCrash]
	if !found || e.crashes[pod.UID] == value {
		return
	}
	e.crashes[pod.UID] = value
	container, code, err := parseCrash(pod)
	switch {
	case err != nil:
		e.config.Problem(pod, err)
	case known:
		e.config.Runtime.Crash(now, kubelet.RuntimeUID(pod), container, code)
	}
}

func (e *Edge) gonePod(now time.Time, pod *corev1.Pod) {
	delete(e.crashes, pod.UID)
	e.config.Fleet.ForgetPod(now, pod.UID)
}
