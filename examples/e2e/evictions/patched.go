package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// patched: another client patches labels, annotations and the status of the
// same pods all the time, each as fast as it can. It does so from before they
// are tainted until they are gone.
func patched() scenario {
	const toleration = 5 * time.Second
	return scenario{
		Name:  "patched",
		Title: "another client patches the same pods all the time",
		Ours:  []string{"--confirm"}, // where what was confirmed has always changed
		Late:  10 * time.Second,
		Act: func(ctx context.Context, c *cluster, _ *controller) error {
			nodes, err := c.addNodes(ctx, "tainted", 4)
			if err != nil {
				return err
			}
			if err := c.addBystanders(ctx, nodes); err != nil {
				return err
			}
			later, err := c.addPods(ctx, "later", 20, toleration, nodes...)
			if err != nil {
				return err
			}
			atOnce, err := c.addPods(ctx, "at-once", 20, 0, nodes...)
			if err != nil {
				return err
			}
			r, err := newRival(c, later, atOnce)
			if err != nil {
				return err
			}
			return r.during(ctx, func() error {
				if err := c.taint(ctx, nodes...); err != nil {
					return err
				}
				return wait.Until(ctx, "the patched pods to leave", func(ctx context.Context) (bool, error) {
					left, deadline, err := c.outstanding(ctx)
					return err == nil && (left == 0 || time.Now().After(deadline)), err
				})
			})
		},
	}
}

// A rival patches pods, each as fast as the API server lets it.
type rival struct {
	client kubernetes.Interface
	names  []string
}

func newRival(c *cluster, pods ...[]*pod) (*rival, error) {
	client, err := sidebyside.ProtobufClient(c.plane.RESTConfig(), "rival")
	if err != nil {
		return nil, err
	}
	r := &rival{client: client}
	for _, p := range slices.Concat(pods...) {
		r.names = append(r.names, p.name)
	}
	return r, nil
}

// during patches while act runs.
func (r *rival) during(ctx context.Context, act func() error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	for _, name := range r.names {
		group.Go(func() error { return r.patch(ctx, name) })
	}
	err := act()
	stop()
	if rivalErr := group.Wait(); err == nil {
		err = rivalErr
	}
	return err
}

// patch patches a pod until it is gone or ctx ends. It does so in three ways in
// turn, each time to something new, so that the pod's version changes.
func (r *rival) patch(ctx context.Context, name string) error {
	pods := r.client.CoreV1().Pods(namespace)
	for round := 0; ctx.Err() == nil; round++ {
		patch, subresources := change(round)
		_, err := pods.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			return fmt.Errorf("patch pod %s: %w", name, err)
		}
	}
	return nil
}

// change is a patch of labels, annotations or status, and the subresource that
// it is for.
func change(round int) (string, []string) {
	switch round % 3 {
	case 0:
		return fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"}}}`, round), nil
	case 1:
		return fmt.Sprintf(`{"metadata":{"annotations":{"example.com/round":"%d"}}}`, round), nil
	default:
		return fmt.Sprintf(`{"status":{"conditions":[{"type":"example.com/Round","status":"True","message":"%d"}]}}`, round),
			[]string{"status"}
	}
}
