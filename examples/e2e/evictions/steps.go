package evictions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// pause lets time pass.
func pause(duration time.Duration) step {
	return func(ctx context.Context, _ *cluster) error { return wait.Pause(ctx, duration) }
}

// taint taints the nodes of the scenario.
func taint(ctx context.Context, c *cluster) error { return c.taint(ctx, c.nodes...) }

// restart kills the subject and starts it again.
func restart(_ context.Context, c *cluster) error { return c.running.Restart() }

// awaitEnd waits until every pod that must leave has left or is lost.
func awaitEnd(ctx context.Context, c *cluster) error {
	return wait.Until(ctx, "the end", func(ctx context.Context) error {
		_, err := c.judge(ctx)
		if errors.Is(err, errUnexplained) {
			return nil // the verdict says so
		}
		return err
	})
}

// free says that nothing prevents evictions any longer.
func free(_ context.Context, c *cluster) error {
	c.free = time.Now()
	return nil
}

const (
	policyName = "no-deletions"
	policy     = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-deletions}
spec:
  matchConstraints:
    resourceRules: [{operations: [DELETE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
  validations: [{expression: "false", message: no pod is deleted now}]
`
	binding = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-deletions}
spec: {policyName: no-deletions, validationActions: [%s]}
`
	budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[1]s}
spec: {minAvailable: 100%%, selector: {matchLabels: {app: %[1]s}}}
`
)

// applying is how manifests are applied.
func applying() metav1.PatchOptions { return metav1.PatchOptions{FieldManager: "script"} }

// deny makes an admission policy deny deletions of pods.
func deny(ctx context.Context, c *cluster) error {
	_, err := c.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().
		Patch(ctx, policyName, types.ApplyYAMLPatchType, []byte(policy), applying())
	if err != nil {
		return fmt.Errorf("apply the policy: %w", err)
	}
	return c.bind(ctx, admissionv1.Deny)
}

// allow makes the policy only audit deletions.
func allow(ctx context.Context, c *cluster) error { return c.bind(ctx, admissionv1.Audit) }

// bind binds the policy to an action, and returns when the API server has
// noticed. It tries a deletion that is not carried out.
func (c *cluster) bind(ctx context.Context, action admissionv1.ValidationAction) error {
	manifest := fmt.Appendf(nil, binding, action)
	_, err := c.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().
		Patch(ctx, policyName, types.ApplyYAMLPatchType, manifest, applying())
	if err != nil {
		return fmt.Errorf("bind the policy: %w", err)
	}
	return wait.Until(ctx, "the policy to act by "+string(action), func(ctx context.Context) error {
		err := c.client.Delete(ctx, "probe-0", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		denied := apierrors.IsInvalid(err) || apierrors.IsForbidden(err)
		switch {
		case denied && action == admissionv1.Deny:
			return nil
		case err == nil && action == admissionv1.Deny:
			return errors.New("nothing is denied")
		}
		return err
	})
}

// forbid makes a budget of a group allow no eviction, permit all. What a budget
// allows is written by hand: the disruption controller would have to be
// kube-controller-manager, and its own speed is not what is looked at.
func forbid(group string) step {
	return func(ctx context.Context, c *cluster) error {
		manifest := fmt.Appendf(nil, budget, group)
		_, err := c.Client.PolicyV1().PodDisruptionBudgets(namespace).
			Patch(ctx, group, types.ApplyYAMLPatchType, manifest, applying())
		if err != nil {
			return fmt.Errorf("apply budget %s: %w", group, err)
		}
		return c.setAllowed(ctx, group, 0)
	}
}

func permit(group string) step {
	return func(ctx context.Context, c *cluster) error {
		now := time.Now()
		for _, p := range c.groups[group] {
			p.allowed = now
		}
		return c.setAllowed(ctx, group, len(c.groups[group]))
	}
}

func (c *cluster) setAllowed(ctx context.Context, budget string, n int) error {
	status := fmt.Appendf(nil, `{"status":{"observedGeneration":1,"disruptionsAllowed":%d}}`, n)
	_, err := c.Client.PolicyV1().PodDisruptionBudgets(namespace).
		Patch(ctx, budget, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	return err
}

// outage kills the API server when the first pod is gone, at once and not at
// the next look, and starts it again after a time.
func outage(down time.Duration) step {
	return func(ctx context.Context, c *cluster) error {
		patient, cancel := context.WithTimeout(ctx, wait.Patience)
		defer cancel()
		watched, err := c.client.Watch(patient, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		_, err = watchtools.UntilWithoutRetry(patient, watched, func(event watch.Event) (bool, error) {
			return event.Type == watch.Deleted, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for the first pod to be gone: %w", err)
		}
		if err := c.Plane.KillAPIServer(); err != nil {
			return err
		}
		if err := wait.Pause(ctx, down); err != nil {
			return err
		}
		return c.Plane.RestartAPIServer(ctx)
	}
}

// recreate deletes the pods of a group, unless another client has done so, and
// creates each again at once, one after another from a time after the taint to
// another. Half of the new ones are on the same node and have a full toleration
// before them. Half are on a node that is not tainted, where they must stay.
func recreate(name string, begin, end time.Duration) step {
	return func(ctx context.Context, c *cluster) error {
		var recreating errgroup.Group
		for n, old := range c.groups[name] {
			node := old.node
			if n%2 == 1 {
				node = calm
			}
			moment := c.tainted[old.node].Add(begin + (end-begin)*time.Duration(n)/time.Duration(old.n))
			recreating.Go(func() error {
				if err := wait.PauseUntil(ctx, moment); err != nil {
					return err
				}
				unless := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(old.uid))}
				err := c.client.Delete(ctx, old.name, unless)
				if err != nil && !apierrors.IsNotFound(err) {
					return fmt.Errorf("delete pod %s: %w", old.name, err)
				}
				_, err = c.addPod(ctx, old.group, old.name, node)
				if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
					return nil // another client has deleted the new one already, which the judge will see
				}
				return err
			})
		}
		return recreating.Wait()
	}
}

// patchMeanwhile taints the nodes, and waits until their pods have left, while
// the pods of the scenario are patched: each as fast as the API server lets it,
// from before they are tainted until they are gone.
func patchMeanwhile(ctx context.Context, c *cluster) error {
	patching, stop := context.WithCancel(ctx)
	defer stop()
	var rivals errgroup.Group
	for _, g := range c.scenario.pods {
		for _, p := range c.groups[g.name] {
			rivals.Go(func() error { return c.patchAgain(patching, p.name) })
		}
	}
	err := taint(ctx, c)
	if err == nil {
		err = awaitEnd(ctx, c)
	}
	stop()
	return errors.Join(err, rivals.Wait())
}

// patchAgain patches the labels, annotations and status of a pod until it is
// gone or ctx ends, each time to something new, so that its version changes.
func (c *cluster) patchAgain(ctx context.Context, name string) error {
	const patch = `{
		"metadata": {"labels": {"round": "%[1]d"}, "annotations": {"example.com/round": "%[1]d"}},
		"status": {"conditions": [{"type": "example.com/Round", "status": "True", "message": "%[1]d"}]}
	}`
	for round := 0; ctx.Err() == nil; round++ {
		_, err := c.client.Patch(ctx, name, types.StrategicMergePatchType, fmt.Appendf(nil, patch, round),
			metav1.PatchOptions{}, "status")
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			return fmt.Errorf("patch pod %s: %w", name, err)
		}
	}
	return nil
}
