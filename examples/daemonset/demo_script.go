package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// step is one line of the script.
type step struct {
	title string
	do    func(ctx context.Context) error
	want  want
	// pause is how much longer than the others the step stays in view.
	pause time.Duration
}

// want is what the cluster must be like at the end of a step. Each node that
// fits has one available pod of each set, with the image.
type want struct {
	image string
	// stuck is the image of a rollout that cannot go on. It has taken as many
	// nodes as the limit of each set allows, and no more.
	stuck string
}

// The nodes of the script that are drained, with NoExecute, and closed, with
// NoSchedule. The pods of a closed node stay.
const (
	drainedFrom, drainedTo = 5, 8
	closedFrom, closedTo   = 9, 10
)

// script is what happens.
func script(w *world) []step {
	return []step{
		{
			title: fmt.Sprintf("create agent and proxy, on %d nodes", demoNodes),
			do: func(ctx context.Context) error {
				if err := w.addNodes(ctx, 1, demoNodes); err != nil {
					return err
				}
				return w.addSets(ctx)
			},
			want: want{image: firstImage},
		},
		{
			title: fmt.Sprintf("roll out v2: agent %d nodes at a time, proxy with surge", demoLimit),
			do:    func(ctx context.Context) error { return w.rollOut(ctx, secondImage) },
			want:  want{image: secondImage},
		},
		{
			title: fmt.Sprintf("%d nodes join", demoLater),
			do:    func(ctx context.Context) error { return w.addNodes(ctx, demoNodes+1, demoNodes+demoLater) },
			want:  want{image: secondImage},
		},
		{
			title: fmt.Sprintf("taint %d nodes NoExecute, and %d NoSchedule, whose pods stay",
				drainedTo-drainedFrom+1, closedTo-closedFrom+1),
			do: func(ctx context.Context) error {
				if err := w.taint(ctx, drainedFrom, drainedTo, corev1.TaintEffectNoExecute); err != nil {
					return err
				}
				return w.taint(ctx, closedFrom, closedTo, corev1.TaintEffectNoSchedule)
			},
			want: want{image: secondImage},
		},
		{
			title: "remove the taints",
			do:    func(ctx context.Context) error { return w.taint(ctx, drainedFrom, closedTo, "") },
			want:  want{image: secondImage},
		},
		{
			title: "roll out v3, whose image cannot be pulled: the rollout stops",
			do:    func(ctx context.Context) error { return w.rollOut(ctx, badImage) },
			want:  want{image: secondImage, stuck: badImage},
			pause: 2 * time.Second,
		},
		{
			title: "roll back to revision 2, as kubectl rollout undo does",
			do:    func(ctx context.Context) error { return w.rollBack(ctx, 2) },
			want:  want{image: secondImage},
		},
	}
}
