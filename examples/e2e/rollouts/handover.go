package rollouts

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// handOver has upstream create and roll out, ours take over and roll out, and
// upstream take over again.
func (p *play) handOver(ctx context.Context) error {
	type action = func(context.Context, *play) error
	for i, turn := range []struct {
		subject sidebyside.Subject
		acts    []action
	}{{upstream, []action{create, rollOut}}, {ours, []action{surge}}, {upstream, nil}} {
		lines, err := p.turn(ctx, turn.subject, fmt.Sprintf("turn-%d", i+1), turn.acts...)
		if err != nil {
			return fmt.Errorf("turn %d, %s: %w", i+1, turn.subject.Name, err)
		}
		p.Say("turn %d of %s has disturbed %d pods and revisions", i+1, turn.subject.Name, len(lines))
		p.result.disturbed = append(p.result.disturbed, lines...)
	}
	return nil
}

// turn has a subject take over, act, and end. It returns what that disturbed.
func (p *play) turn(
	ctx context.Context, subject sidebyside.Subject, node string, acts ...func(context.Context, *play) error,
) (disturbed []string, err error) {
	before, err := p.snapshot(ctx)
	first := apierrors.IsNotFound(err) // there is no set yet
	if err != nil && !first {
		return nil, err
	}
	if p.running, err = p.LaunchSubject(subject); err != nil {
		return nil, err
	}
	defer p.running.Stop()
	if err := p.awaitWork(ctx); err != nil {
		return nil, err
	}
	if !first {
		if disturbed, err = p.takeOver(ctx, before, node); err != nil {
			return nil, err
		}
	}
	for _, act := range acts {
		if err := act(ctx, p); err != nil {
			return nil, err
		}
		if err := p.awaitGoal(ctx); err != nil {
			return nil, err
		}
	}
	// What it has in mind to write is written, and the next begins with that.
	return disturbed, wait.Pause(ctx, quiet)
}

// takeOver adds a node, whose pod shows that the subject has taken over. It
// returns what was disturbed until the cluster was quiet again.
func (p *play) takeOver(ctx context.Context, before state.Snapshot, node string) ([]string, error) {
	if err := p.addNodes(ctx, node); err != nil {
		return nil, err
	}
	if err := p.awaitGoal(ctx); err != nil {
		return nil, err
	}
	if err := wait.Pause(ctx, quiet); err != nil {
		return nil, err
	}
	after, err := p.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return state.Disturbances(before, after, node), nil
}
