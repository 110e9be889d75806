package cri

import "time"

// notice tells what the step under way of a pod's plan has done, if it is to be
// told.
func (f *Fake) notice(p *podRecord, kind NoticeKind, took time.Duration) {
	if p.plan.plan.Notices {
		f.events = append(f.events, Event{Node: p.node, Pod: p.uid, Notice: &Notice{
			Kind: kind, Container: p.plan.step().Container, Took: took,
		}})
	}
}

// noticeFailure tells of a failed start, if it is to be told.
func (f *Fake) noticeFailure(p *podRecord, result *StepResult) {
	step := &result.Step
	if p.plan.plan.Notices && !result.Done && (step.Kind == StepStart || step.Kind == StepCreateSandbox) {
		f.events = append(f.events, Event{Node: p.node, Pod: p.uid, Notice: &Notice{
			Kind: NoticeFailed, Container: step.Container, Reason: result.Reason, Message: result.Message,
		}})
	}
}
