package kubelet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Names of the annotations of a Node that [ParseFaults] reads, in the domain
// cri.AnnotationDomain. Without a value a switch is on. Times are Go durations.
const (
	// AnnotationSilent cuts the node off from the API server.
	AnnotationSilent = "silent"
	// AnnotationRuntimeDown makes its runtime give no answer.
	AnnotationRuntimeDown = "runtime-down"
	// AnnotationNetworkDown leaves its pods without a network.
	AnnotationNetworkDown = "network-down"
	// AnnotationMemoryPressure, AnnotationDiskPressure and AnnotationPIDPressure
	// put it under pressure.
	AnnotationMemoryPressure = "memory-pressure"
	AnnotationDiskPressure   = "disk-pressure"
	AnnotationPIDPressure    = "pid-pressure"
	// AnnotationBoot reboots the machine whenever its value changes.
	AnnotationBoot = "boot"
	// AnnotationStart restarts the kubelet whenever its value changes.
	AnnotationStart = "kubelet-start"
	// AnnotationAPILatency is how much longer each of its calls takes: those about
	// pods, its registration, its lease and its status. From 10 s on heartbeats
	// time out. Its watch is as before.
	AnnotationAPILatency = "api-latency"
	// AnnotationAPIFailures is the part of its calls that fail, from 0 to 1. They
	// do not reach the API server. Its watch is as before. Without the annotation
	// its heartbeats, and the statuses and deletions of its pods, arrive again
	// within 10 s.
	AnnotationAPIFailures = "api-failures"
	// AnnotationClockSkew is by how much its clock is ahead of the API server's.
	// It shows in its lease and in the conditions of its Node. Statuses of pods
	// have the time of the API server, because a start of the process reads them.
	// A negative time is behind.
	AnnotationClockSkew = "clock-skew"
)

// Faults are what is broken of a node. The zero value is a node that works.
type Faults struct {
	// Silent: nothing passes between the node and the API server. Containers go
	// on. What the API server wants is seen when that is over.
	Silent bool
	// RuntimeDown: the runtime does not answer. Containers go on, and syncs and
	// probes fail. After 30 s the loop of the kubelet stops.
	RuntimeDown bool
	// NetworkDown: the runtime has no network for pods. Those that need it are not
	// synced.
	NetworkDown bool
	// MemoryPressure, DiskPressure and PIDPressure show in the conditions of the
	// node. It admits fewer pods, and evicts none.
	MemoryPressure, DiskPressure, PIDPressure bool
	// Boot and Start name the boot of the machine and the start of its kubelet.
	// Another name is another one.
	Boot, Start string
	// APILatency is how much longer each call takes.
	APILatency time.Duration
	// APIFailures is the part of the calls that fail, from 0 to 1.
	APIFailures float64
	// ClockSkew is by how much the clock of the node is ahead of the API server's.
	// It shows in heartbeats, see [Fleet.Call].
	ClockSkew time.Duration
}

// String returns the faults that last, as annotations, separated by commas. It
// is empty for a node that works.
func (f Faults) String() string {
	var all []string
	for _, fault := range []struct {
		on   bool
		text string
	}{
		{f.Silent, AnnotationSilent}, {f.RuntimeDown, AnnotationRuntimeDown}, {f.NetworkDown, AnnotationNetworkDown},
		{f.MemoryPressure, AnnotationMemoryPressure}, {f.DiskPressure, AnnotationDiskPressure},
		{f.PIDPressure, AnnotationPIDPressure},
		{f.APILatency != 0, fmt.Sprint(AnnotationAPILatency, "=", f.APILatency)},
		{f.APIFailures != 0, fmt.Sprint(AnnotationAPIFailures, "=", f.APIFailures)},
		{f.ClockSkew != 0, fmt.Sprint(AnnotationClockSkew, "=", f.ClockSkew)},
	} {
		if fault.on {
			all = append(all, fault.text)
		}
	}
	return strings.Join(all, ",")
}

// ParseFaults reads the faults of a node from its annotations. The error joins
// all that is wrong with them, also annotations of the domain that have another
// name. What is wrong is no fault.
func ParseFaults(node *corev1.Node) (Faults, error) {
	p := faultParser{annotations: node.Annotations}
	f := Faults{
		Silent:         p.isOn(AnnotationSilent),
		RuntimeDown:    p.isOn(AnnotationRuntimeDown),
		NetworkDown:    p.isOn(AnnotationNetworkDown),
		MemoryPressure: p.isOn(AnnotationMemoryPressure),
		DiskPressure:   p.isOn(AnnotationDiskPressure),
		PIDPressure:    p.isOn(AnnotationPIDPressure),
	}
	name := func(text string) (string, error) { return text, nil }
	parse(&p, AnnotationBoot, &f.Boot, name)
	parse(&p, AnnotationStart, &f.Start, name)
	parse(&p, AnnotationAPILatency, &f.APILatency, func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err == nil && d < 0 {
			return 0, errors.New("want a time of at least 0")
		}
		return d, err
	})
	parse(&p, AnnotationAPIFailures, &f.APIFailures, func(text string) (float64, error) {
		part, err := strconv.ParseFloat(text, 64)
		if err == nil && !(part >= 0 && part <= 1) {
			return 0, errors.New("want a number from 0 to 1")
		}
		return part, err
	})
	parse(&p, AnnotationClockSkew, &f.ClockSkew, time.ParseDuration)
	return f, errors.Join(append(p.problems, cri.UnknownNames(p.annotations, p.names, nil)...)...)
}

// faultParser reads annotations and collects what is wrong with them.
type faultParser struct {
	annotations map[string]string
	// names are those of the annotations that it has read.
	names    []string
	problems []error
}

func (p *faultParser) isOn(name string) (on bool) {
	parse(p, name, &on, func(text string) (bool, error) {
		if text == "" {
			return true, nil
		}
		return strconv.ParseBool(text)
	})
	return on
}

// parse sets a value if there is an annotation and nothing is wrong with it.
func parse[T any](p *faultParser, name string, value *T, read func(string) (T, error)) {
	p.names = append(p.names, name)
	key := cri.AnnotationDomain + "/" + name
	text, found := p.annotations[key]
	if !found {
		return
	}
	parsed, err := read(text)
	if err != nil {
		p.problems = append(p.problems, fmt.Errorf("annotation %s=%q: %w", key, text, err))
		return
	}
	*value = parsed
}

// Call is what the faults of a node do to one of its calls of the API server.
// The zero value is a call that works.
type Call struct {
	// Fails: it does not reach the API server.
	Fails bool
	// Latency is how much longer it takes.
	Latency time.Duration
	// ClockSkew is by how much the times in it are ahead.
	ClockSkew time.Duration
}
