package main

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// handover is the mode in which controllers take turns on one cluster.
const handover mode = "handover"

// handOver has upstream create and roll out, ours take over and roll out, and
// upstream take over again. It returns the pods and revisions that a change of
// the controller has disturbed.
func (p *play) handOver(ctx context.Context) (disturbed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := p.prepare(ctx, string(handover)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.cluster.stop()) }()
	type action = func(context.Context, *play) error
	for i, turn := range []struct {
		subject subject
		acts    []action
	}{{upstream, []action{create, rollOut}}, {ours, []action{surge}}, {upstream, nil}} {
		p.subject = turn.subject
		lines, err := p.turn(ctx, fmt.Sprintf("turn-%d", i+1), turn.acts...)
		if err != nil {
			return disturbed, fmt.Errorf("turn %d, %s: %w", i+1, p.subject.Name, err)
		}
		p.say("turn %d has disturbed %d pods and revisions", i+1, len(lines))
		disturbed = append(disturbed, lines...)
	}
	return disturbed, nil
}

// turn has the subject take over, act, and end.
func (p *play) turn(
	ctx context.Context, node string, acts ...func(context.Context, *play) error,
) (disturbed []string, err error) {
	before, err := p.cluster.snapshot(ctx)
	first := apierrors.IsNotFound(err) // there is no set yet
	if err != nil && !first {
		return nil, err
	}
	p.controller, err = startController(ctx, p.cluster, p.subject, p.programs)
	defer p.controller.stop()
	if err != nil {
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
	if err := p.cluster.addNodes(ctx, node); err != nil {
		return nil, err
	}
	if err := p.awaitGoal(ctx); err != nil {
		return nil, err
	}
	if err := wait.Pause(ctx, quiet); err != nil {
		return nil, err
	}
	after, err := p.cluster.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return state.Disturbances(before, after, node), nil
}
