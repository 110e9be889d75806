package evictions

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

const denial = "no-deletions"

// deny makes the API server deny deletions of pods, and returns when it does.
func (c *cluster) deny(ctx context.Context) error {
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: denial},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Delete},
					Rule: admissionv1.Rule{APIGroups: []string{corev1.GroupName}, APIVersions: []string{"v1"},
						Resources: []string{"pods"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "no pod is deleted now"}},
		},
	}
	client := c.Client.AdmissionregistrationV1()
	if _, err := client.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the policy: %w", err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: denial},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        denial,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	if _, err := client.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bind the policy: %w", err)
	}
	if _, err := c.addPod(ctx, probe, probe, forever, "nowhere"); err != nil {
		return err
	}
	return wait.Until(ctx, "the policy to deny", c.isDenied)
}

// allow takes the policy away, and returns when the API server has noticed.
func (c *cluster) allow(ctx context.Context) error {
	err := c.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().
		Delete(ctx, denial, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("unbind the policy: %w", err)
	}
	return wait.Until(ctx, "the policy to be gone", func(ctx context.Context) (bool, error) {
		denied, err := c.isDenied(ctx)
		return !denied, err
	})
}

// probe is the pod whose deletion is tried.
const probe = "probe"

// isDenied tries a deletion that is not carried out.
func (c *cluster) isDenied(ctx context.Context) (bool, error) {
	err := c.Client.CoreV1().Pods(namespace).Delete(ctx, probe, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return true, nil
	}
	return false, err
}

// addBudget creates a budget for the pods with a label, which allows nothing.
func (c *cluster) addBudget(ctx context.Context, label string) error {
	all := intstr.FromString("100%")
	_, err := c.Client.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: label},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{app: label}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create budget %s: %w", label, err)
	}
	return c.setAllowed(ctx, label, 0)
}

// allowDisruptions makes a budget allow the eviction of all its pods.
func (c *cluster) allowDisruptions(ctx context.Context, name string, pods []*pod) error {
	now := time.Now()
	c.mu.Lock()
	for _, p := range pods {
		p.allowed = now
	}
	c.mu.Unlock()
	return c.setAllowed(ctx, name, len(pods))
}

// setAllowed writes what the disruption controller would.
func (c *cluster) setAllowed(ctx context.Context, name string, n int) error {
	budgets := c.Client.PolicyV1().PodDisruptionBudgets(namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := budgets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		live.Status.ObservedGeneration = live.Generation
		live.Status.DisruptionsAllowed = int32(n)
		_, err = budgets.UpdateStatus(ctx, live, metav1.UpdateOptions{})
		return err
	})
}

// recreateAt deletes a pod at a time, if no other client has done so, and
// creates it again at once.
func (c *cluster) recreateAt(ctx context.Context, moment time.Time, old *pod, node string) error {
	if err := wait.PauseUntil(ctx, moment); err != nil {
		return err
	}
	err := c.Client.CoreV1().Pods(namespace).Delete(ctx, old.name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &old.uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete pod %s: %w", old.name, err)
	}
	_, err = c.addPod(ctx, old.name, old.name, old.tolerates, node)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another client has deleted the new one already, which the judge will see
	}
	return err
}

// A rival patches pods, each as fast as the API server lets it.
type rival struct{ client kubernetes.Interface }

// patch patches a pod until it is gone or ctx ends. It does so in three ways in
// turn, each time to something new, so that the pod's version changes.
func (r rival) patch(ctx context.Context, name string) error {
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
