package cri

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// How long a call of the runtime takes at most. A pull and a postStart hook
// have no such limit. Sources: RuntimeRequestTimeout in the defaults of the
// kubelet's configuration, and cri-client's remote_runtime.go, which has twice
// that for a sandbox, v1.37.1.
const (
	startTimeout   = 2 * time.Minute
	sandboxTimeout = 2 * startTimeout
)

// timedOut is the message of a call that has taken longer.
const timedOut = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"

// createSandbox goes on with a step that creates a sandbox. It returns when the
// next stage is due, or else the result.
func (f *Fake) createSandbox(p *podRecord) (time.Duration, *StepResult) {
	pod, step := p.plan.plan.Pod, p.plan.step()
	script, err := ParseScript(pod, "")
	if err != nil {
		return 0, failed(step, ReasonCreateSandbox, err.Error())
	}
	if p.plan.stage == stageIdle {
		p.plan.stage = stageSandbox
		return min(script.SandboxTime, sandboxTimeout), nil
	}
	if script.SandboxTime > sandboxTimeout {
		return 0, failed(step, ReasonCreateSandbox, timedOut)
	}
	if p.fails("", AnnotationSandboxFailures, script.SandboxFailures) {
		return 0, failed(step, ReasonCreateSandbox, "failed by annotation")
	}
	s := Sandbox{
		ID: newID(p.uid, "", step.Attempt), Attempt: step.Attempt, Ready: true, HostNetwork: pod.Spec.HostNetwork,
	}
	f.stopSandboxes(p)
	if !s.HostNetwork {
		ip, ok := f.addresses.take()
		if !ok {
			return 0, failed(step, ReasonCreateSandbox, fmt.Sprintf("no IP is free in %s", f.addresses.network))
		}
		s.IP = ip
	}
	// The kubelet needs the newest only, and garbage collection keeps no other.
	p.sandboxes = []Sandbox{s}
	f.changed(p)
	return 0, done(step)
}

// startContainer goes on with a step that starts a container. It returns when
// the next stage is due, or else the result.
func (f *Fake) startContainer(at time.Time, p *podRecord) (time.Duration, *StepResult) {
	plan, step := p.plan, p.plan.step()
	spec := findSpec(plan.plan.Pod, step.Container)
	if spec == nil {
		return 0, failed(step, ReasonConfig, fmt.Sprintf("pod has no container %q", step.Container))
	}
	script, err := ParseScript(plan.plan.Pod, spec.Name)
	if err != nil {
		return 0, failed(step, ReasonConfig, err.Error())
	}
	switch plan.stage {
	case stageIdle:
		wait, refusal := f.pull(p, spec, &script)
		if refusal != nil {
			return 0, refusal
		}
		return wait, nil
	case stagePull:
		if p.fails(spec.Name, AnnotationPullFailures, script.PullFailures) {
			return 0, failed(step, ReasonImagePull, fmt.Sprintf("image %q failed by annotation", spec.Image))
		}
		return f.beginStart(p, spec, &script, NoticePulled, script.PullTime), nil
	case stageStart:
		return f.run(at, p, spec, &script)
	case stageHook:
		if plan.started.State == StateRunning &&
			p.fails(spec.Name, AnnotationPostStartFailures, script.PostStartFailures) {
			f.exit(at, p, plan.started, killedCode)
			return 0, failed(step, ReasonPostStart, "postStart hook failed by annotation")
		}
		return 0, done(step)
	default:
		return 0, failed(step, ReasonCreate, "start is in stage "+plan.stage.String())
	}
}

// pull begins the pull of an image, or goes on without one. It returns when the
// next stage is due, or else why there is none.
func (f *Fake) pull(p *podRecord, spec *corev1.Container, script *Script) (time.Duration, *StepResult) {
	plan, step := p.plan, p.plan.step()
	_, present := f.machine(p.node).images[spec.Image]
	switch {
	case spec.ImagePullPolicy == corev1.PullNever && !present:
		return 0, failed(step, ReasonImageNeverPull,
			fmt.Sprintf("Container image %q is not present with pull policy of Never", spec.Image))
	case present && spec.ImagePullPolicy != corev1.PullAlways:
		return f.beginStart(p, spec, script, NoticePresent, 0), nil
	case !step.MayPull:
		return 0, failed(step, ReasonImagePullBackOff, fmt.Sprintf("Back-off pulling image %q", spec.Image))
	default:
		plan.stage = stagePull
		f.notice(p, NoticePulling, 0)
		return script.PullTime, nil
	}
}

// beginStart begins the start of a container whose image is there. It returns
// when the next stage is due.
func (f *Fake) beginStart(
	p *podRecord, spec *corev1.Container, script *Script, why NoticeKind, took time.Duration,
) time.Duration {
	f.machine(p.node).useImage(spec.Image)
	p.plan.stage = stageStart
	f.notice(p, why, took)
	return min(script.StartTime, startTimeout)
}

// startCode is the exit code of a container that could not be started.
const startCode int32 = 128

// run creates a container and starts it.
func (f *Fake) run(
	at time.Time, p *podRecord, spec *corev1.Container, script *Script,
) (time.Duration, *StepResult) {
	plan, step := p.plan, p.plan.step()
	if len(p.sandboxes) == 0 || !p.sandboxes[0].Ready {
		return 0, failed(step, ReasonCreate, "pod has no ready sandbox")
	}
	if script.StartTime > startTimeout {
		return 0, failed(step, ReasonCreate, timedOut)
	}
	attempt := max(int32(step.Attempt), p.removed[spec.Name])
	c := &containerRecord{
		Container: Container{
			ID: newID(p.uid, spec.Name, uint32(attempt)), Name: spec.Name, Image: spec.Image, Sandbox: p.sandboxes[0].ID,
			Attempt: attempt, State: StateCreated, CreatedAt: at,
		},
		script: f.scriptOf(plan.plan.Pod, *script),
		hooked: spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil,
	}
	p.containers = append([]*containerRecord{c}, p.containers...)
	plan.started = c
	f.changed(p)
	f.notice(p, NoticeCreated, 0)
	if p.fails(spec.Name, AnnotationStartFailures, script.StartFailures) {
		// As containerd has it, so that the kubelet's back-off applies.
		c.State, c.FinishedAt, c.ExitCode, c.Reason = StateExited, at, startCode, "StartError"
		return 0, failed(step, ReasonRun, "start failed by annotation")
	}
	c.State, c.StartedAt = StateRunning, at
	f.notice(p, NoticeStarted, 0)
	c.exitAt = later(at, script.runTime(c.Attempt))
	f.arm(timer{p.uid, c.ID}, c.exitAt)
	if spec.Lifecycle != nil && spec.Lifecycle.PostStart != nil {
		plan.stage = stageHook
		return script.PostStartTime, nil
	}
	return 0, done(step)
}

func failed(step *Step, reason, message string) *StepResult {
	return &StepResult{Step: *step, Reason: reason, Message: message}
}

func done(step *Step) *StepResult { return &StepResult{Step: *step, Done: true} }

// findSpec returns the container of a pod's spec with this name, or nil.
func findSpec(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
