package main

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// denied: an admission policy denies the deletion of pods for a while. Some
// pods are due when it begins, some in the midst of it.
func denied() scenario {
	const denial = 20 * time.Second
	return scenario{
		Name:  "denied",
		Title: "an admission policy denies deletions for 20 s",
		Late:  30 * time.Second, // the wait before the next attempt grows as long as it is denied
		Act: func(ctx context.Context, c *cluster, _ *controller) error {
			nodes, err := c.addNodes(ctx, "tainted", 4)
			if err != nil {
				return err
			}
			if _, err := c.addPods(ctx, "at-once", 20, 0, nodes...); err != nil {
				return err
			}
			if _, err := c.addPods(ctx, "later", 20, denial/2, nodes...); err != nil {
				return err
			}
			if err := c.addBystanders(ctx, nodes); err != nil {
				return err
			}
			if err := c.deny(ctx); err != nil {
				return err
			}
			if err := c.taint(ctx, nodes...); err != nil {
				return err
			}
			if err := wait.Pause(ctx, denial); err != nil {
				return err
			}
			if err := c.allow(ctx); err != nil {
				return err
			}
			c.isFree()
			return nil
		},
	}
}

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
	client := c.client.AdmissionregistrationV1()
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
	err := c.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().
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
	err := c.client.CoreV1().Pods(namespace).Delete(ctx, probe, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return true, nil
	}
	return false, err
}
