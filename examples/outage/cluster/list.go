package cluster

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// page is how many objects one answer holds. A page of pods is about 5 MB.
const page = 500

// List asks the API server for the objects. It sends nothing but lists, of all
// namespaces, in pages. The error names each right that is missing.
func List(ctx context.Context, client kubernetes.Interface) (*Objects, error) {
	o := &Objects{}
	core, apps, everywhere := client.CoreV1(), client.AppsV1(), metav1.NamespaceAll
	err := errors.Join(
		list(ctx, "nodes", core.Nodes().List,
			func(l *corev1.NodeList) { o.Nodes = append(o.Nodes, l.Items...) }),
		list(ctx, "leases.coordination.k8s.io", client.CoordinationV1().Leases(everywhere).List,
			func(l *coordinationv1.LeaseList) { o.Leases = append(o.Leases, l.Items...) }),
		list(ctx, "pods", core.Pods(everywhere).List,
			func(l *corev1.PodList) { o.Pods = append(o.Pods, l.Items...) }),
		list(ctx, "poddisruptionbudgets.policy", client.PolicyV1().PodDisruptionBudgets(everywhere).List,
			func(l *policyv1.PodDisruptionBudgetList) { o.Budgets = append(o.Budgets, l.Items...) }),
		list(ctx, "deployments.apps", apps.Deployments(everywhere).List,
			func(l *appsv1.DeploymentList) { o.Deployments = append(o.Deployments, l.Items...) }),
		list(ctx, "daemonsets.apps", apps.DaemonSets(everywhere).List,
			func(l *appsv1.DaemonSetList) { o.DaemonSets = append(o.DaemonSets, l.Items...) }),
		list(ctx, "replicasets.apps", apps.ReplicaSets(everywhere).List,
			func(l *appsv1.ReplicaSetList) { o.ReplicaSets = append(o.ReplicaSets, l.Items...) }),
		list(ctx, "statefulsets.apps", apps.StatefulSets(everywhere).List,
			func(l *appsv1.StatefulSetList) { o.StatefulSets = append(o.StatefulSets, l.Items...) }),
		list(ctx, "jobs.batch", client.BatchV1().Jobs(everywhere).List,
			func(l *batchv1.JobList) { o.Jobs = append(o.Jobs, l.Items...) }),
	)
	if err != nil {
		return nil, err
	}
	return o, o.Validate()
}

// list hands out the pages of one kind. A list whose continuation has expired
// begins again: that of a large cluster may take longer than etcd keeps it.
func list[L metav1.ListInterface](ctx context.Context, resource string,
	get func(context.Context, metav1.ListOptions) (L, error), take func(L)) error {
	var pages []L
	for options := (metav1.ListOptions{Limit: page}); ; {
		answer, err := get(ctx, options)
		switch {
		case apierrors.IsResourceExpired(err) && options.Continue != "":
			pages, options = nil, metav1.ListOptions{} // all at once
			continue
		case apierrors.IsForbidden(err):
			return fmt.Errorf("missing right: list on %s in all namespaces; outage/cluster/clusterrole.yaml has all that "+
				"are needed: %w", resource, err)
		case err != nil:
			return fmt.Errorf("list %s: %w", resource, err)
		}
		pages = append(pages, answer)
		if options.Continue = answer.GetContinue(); options.Continue == "" {
			break
		}
	}
	for _, one := range pages {
		take(one)
	}
	return nil
}
