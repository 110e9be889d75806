package cri

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Names of the annotations. Times are Go durations.
const (
	// AnnotationPullTime is how long a pull takes. "forever" holds up the pod's
	// deletion too, as in a kubelet.
	AnnotationPullTime = "pull-time"
	// AnnotationPullFailures is how many pulls of a pod fail for each container,
	// or "all".
	AnnotationPullFailures = "pull-failures"
	// AnnotationStartTime is how long a start takes, after the pull. It fails
	// after 2 min.
	AnnotationStartTime = "start-time"
	// AnnotationStartFailures is how many starts fail, or "all".
	AnnotationStartFailures = "start-failures"
	// AnnotationRunTime is after which time the container exits by itself. A list
	// has one for each run, and the last holds from then on. "forever" is the
	// default.
	AnnotationRunTime = "run-time"
	// AnnotationExitCode is the exit code of a container that exits by itself, a
	// list as for AnnotationRunTime.
	AnnotationExitCode = "exit-code"
	// AnnotationStopTime is how long a container takes to exit after its signal.
	AnnotationStopTime = "stop-time"
	// AnnotationStopCode is its exit code then, unless it is killed.
	AnnotationStopCode = "stop-code"
	// AnnotationPostStartTime is how long its postStart hook takes. "forever"
	// holds up the pod's deletion too, as in a kubelet.
	AnnotationPostStartTime = "post-start-time"
	// AnnotationPostStartFailures is how many postStart hooks fail, or "all".
	AnnotationPostStartFailures = "post-start-failures"
	// AnnotationPreStopTime is how long its preStop hook takes.
	AnnotationPreStopTime = "pre-stop-time"
	// AnnotationStartupTime is after which time its startup probe succeeds.
	AnnotationStartupTime = "startup-time"
	// AnnotationReadyTime is after which time its readiness probe succeeds.
	AnnotationReadyTime = "ready-time"
	// AnnotationLiveTime is after which time its liveness probe fails.
	AnnotationLiveTime = "live-time"
	// AnnotationMountTime is how long the volumes of the pod take to be there, and
	// AnnotationUnmountTime to be gone.
	AnnotationMountTime   = "mount-time"
	AnnotationUnmountTime = "unmount-time"
	// AnnotationMountFailures is how many waits for the volumes to be there fail,
	// or "all", and AnnotationUnmountFailures how many for them to be gone. Each
	// takes the time that a kubelet waits. The next wait begins the times above.
	AnnotationMountFailures   = "mount-failures"
	AnnotationUnmountFailures = "unmount-failures"
	// AnnotationSandboxTime is how long the sandbox of the pod takes. It fails
	// after 4 min.
	AnnotationSandboxTime = "sandbox-time"
	// AnnotationSandboxFailures is how many sandboxes fail, or "all".
	AnnotationSandboxFailures = "sandbox-failures"
	// AnnotationCrash makes a container of a running pod exit whenever its value
	// changes. A script has nothing of it; package edge reads it.
	AnnotationCrash = "crash"
)

// Forever is a time that does not end. Always is a count that does not end.
const (
	Forever = time.Duration(1<<63 - 1)
	Always  = 1<<31 - 1
)

// Script says how a container of the fake runtime behaves. The zero value of
// each time is no time at all.
type Script struct {
	PullTime, StartTime, StopTime    time.Duration
	PostStartTime, PreStopTime       time.Duration
	PullFailures, StartFailures      int
	PostStartFailures                int
	StopCode                         int32
	RunTimes                         []time.Duration
	ExitCodes                        []int32
	StartupTime, ReadyTime, LiveTime time.Duration
	SandboxTime                      time.Duration
	MountTime, UnmountTime           time.Duration
	SandboxFailures                  int
	MountFailures, UnmountFailures   int
}

// ParseScript reads the script of a container from the annotations of its pod.
// The annotation NAME.hollownode.kubelife.dev/run-time is for the container of
// that name. Without a name it is for all containers that have none of their
// own. The container "" is the pod itself. The error joins all that is wrong.
// That of the pod itself has also each annotation of the domain with another
// name.
func ParseScript(pod *corev1.Pod, container string) (Script, error) {
	if !isScripted(pod) {
		return plainScript(), nil
	}
	p := parser{annotations: pod.Annotations, container: container}
	s := Script{
		PullTime:          p.duration(AnnotationPullTime, 0),
		PullFailures:      p.count(AnnotationPullFailures),
		StartTime:         p.duration(AnnotationStartTime, 0),
		StartFailures:     p.count(AnnotationStartFailures),
		StopTime:          p.duration(AnnotationStopTime, 0),
		PostStartTime:     p.duration(AnnotationPostStartTime, 0),
		PostStartFailures: p.count(AnnotationPostStartFailures),
		PreStopTime:       p.duration(AnnotationPreStopTime, 0),
		StartupTime:       p.duration(AnnotationStartupTime, 0),
		ReadyTime:         p.duration(AnnotationReadyTime, 0),
		LiveTime:          p.duration(AnnotationLiveTime, Forever),
		MountTime:         p.duration(AnnotationMountTime, 0),
		UnmountTime:       p.duration(AnnotationUnmountTime, 0),
		SandboxTime:       p.duration(AnnotationSandboxTime, 0),
		SandboxFailures:   p.count(AnnotationSandboxFailures),
		MountFailures:     p.count(AnnotationMountFailures),
		UnmountFailures:   p.count(AnnotationUnmountFailures),
		RunTimes:          each(&p, AnnotationRunTime, parseDuration),
		ExitCodes:         each(&p, AnnotationExitCode, parseCode),
	}
	if codes := each(&p, AnnotationStopCode, parseCode); len(codes) > 0 {
		s.StopCode = codes[0]
	}
	if container == "" {
		p.names = append(p.names, AnnotationCrash)
		p.problems = append(p.problems, UnknownNames(pod.Annotations, p.names, containersOf(pod))...)
	}
	return s, errors.Join(p.problems...)
}

// containersOf returns the names of the containers of a pod.
func containersOf(pod *corev1.Pod) []string {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Name)
	}
	return names
}

// isScripted reports whether a pod may have annotations of a script. Most have
// none, and there are 20 to search for, by two names each.
func isScripted(pod *corev1.Pod) bool {
	for name := range pod.Annotations {
		if strings.Contains(name, AnnotationDomain) {
			return true
		}
	}
	return false
}

// plainScript is the script of pods without annotations.
func plainScript() Script { return Script{LiveTime: Forever} }

// runTime returns how long a run lasts by itself.
func (s *Script) runTime(attempt int32) time.Duration {
	if len(s.RunTimes) == 0 {
		return Forever
	}
	return s.RunTimes[min(int(attempt), len(s.RunTimes)-1)]
}

// exitCode returns the code with which a run ends by itself.
func (s *Script) exitCode(attempt int32) int32 {
	if len(s.ExitCodes) == 0 {
		return 0
	}
	return s.ExitCodes[min(int(attempt), len(s.ExitCodes)-1)]
}

// parser reads annotations and collects what is wrong with them.
type parser struct {
	annotations map[string]string
	container   string
	// names are those of the annotations that it has read.
	names    []string
	problems []error
}

// text returns the annotation of the container, or else that of all.
func (p *parser) text(name string) (key, text string, found bool) {
	p.names = append(p.names, name)
	if p.container != "" {
		key = p.container + "." + AnnotationDomain + "/" + name
		if text, found = p.annotations[key]; found {
			return key, text, true
		}
	}
	key = AnnotationDomain + "/" + name
	text, found = p.annotations[key]
	return key, text, found
}

func (p *parser) duration(name string, otherwise time.Duration) time.Duration {
	if list := each(p, name, parseDuration); len(list) > 0 {
		return list[0]
	}
	return otherwise
}

func (p *parser) count(name string) int {
	if list := each(p, name, parseCount); len(list) > 0 {
		return list[0]
	}
	return 0
}

// each parses the parts of a list. One bad part makes the whole list empty.
func each[T any](p *parser, name string, parse func(string) (T, error)) []T {
	key, text, found := p.text(name)
	if !found {
		return nil
	}
	var list []T
	for part := range strings.SplitSeq(text, ",") {
		value, err := parse(strings.TrimSpace(part))
		if err != nil {
			p.problems = append(p.problems, fmt.Errorf("annotation %s=%q: %w", key, text, err))
			return nil
		}
		list = append(list, value)
	}
	return list
}

func parseDuration(text string) (time.Duration, error) {
	if text == "forever" {
		return Forever, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		return 0, errors.New("want a time of at least 0")
	}
	return d, err
}

func parseCount(text string) (int, error) {
	if text == "all" {
		return Always, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

func parseCode(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	return int32(n), err
}
