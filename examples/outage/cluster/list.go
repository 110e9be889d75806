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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// page is how many objects one answer holds. A page of pods is about 5 MB.
const page = 500

// List asks the API server for the objects. It sends nothing but lists, of all
// namespaces, in pages. Before each it tells progress, unless that is nil, of
// which kind how many have come, and how many there are if that is known. The
// error names each right that is missing. Any other failure ends the lists.
func List(
	ctx context.Context, client kubernetes.Interface, progress func(resource string, listed, of int),
) (*Objects, error) {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	o := &Objects{}
	core, apps, everywhere := client.CoreV1(), client.AppsV1(), metav1.NamespaceAll
	var missing []error
	for _, list := range []lister{
		listing("nodes", core.Nodes().List,
			func(l *corev1.NodeList) { o.Nodes = append(o.Nodes, l.Items...) }),
		listing("leases.coordination.k8s.io", client.CoordinationV1().Leases(everywhere).List,
			func(l *coordinationv1.LeaseList) { o.Leases = append(o.Leases, l.Items...) }),
		listing("pods", core.Pods(everywhere).List,
			func(l *corev1.PodList) { o.Pods = append(o.Pods, l.Items...) }),
		listing("poddisruptionbudgets.policy", client.PolicyV1().PodDisruptionBudgets(everywhere).List,
			func(l *policyv1.PodDisruptionBudgetList) { o.Budgets = append(o.Budgets, l.Items...) }),
		listing("deployments.apps", apps.Deployments(everywhere).List,
			func(l *appsv1.DeploymentList) { o.Deployments = append(o.Deployments, l.Items...) }),
		listing("daemonsets.apps", apps.DaemonSets(everywhere).List,
			func(l *appsv1.DaemonSetList) { o.DaemonSets = append(o.DaemonSets, l.Items...) }),
		listing("replicasets.apps", apps.ReplicaSets(everywhere).List,
			func(l *appsv1.ReplicaSetList) { o.ReplicaSets = append(o.ReplicaSets, l.Items...) }),
		listing("statefulsets.apps", apps.StatefulSets(everywhere).List,
			func(l *appsv1.StatefulSetList) { o.StatefulSets = append(o.StatefulSets, l.Items...) }),
		listing("jobs.batch", client.BatchV1().Jobs(everywhere).List,
			func(l *batchv1.JobList) { o.Jobs = append(o.Jobs, l.Items...) }),
	} {
		err := list(ctx, progress)
		switch {
		case apierrors.IsForbidden(err):
			missing = append(missing, err)
		case err != nil: // the others would most likely fail as well, after as long
			return nil, errors.Join(append(missing, err)...)
		}
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	return o, nil
}

// lister lists one kind of objects.
type lister func(ctx context.Context, progress func(resource string, listed, of int)) error

// listing hands out the pages of one kind. A list whose continuation has
// expired begins again: that of a large cluster may take longer than etcd keeps
// it.
func listing[L interface {
	metav1.ListInterface
	runtime.Object
}](resource string, get func(context.Context, metav1.ListOptions) (L, error), take func(L)) lister {
	return func(ctx context.Context, progress func(string, int, int)) error {
		var pages []L
		listed, of := 0, 0
		for options := (metav1.ListOptions{Limit: page}); ; {
			progress(resource, listed, of)
			answer, err := get(ctx, options)
			switch {
			case apierrors.IsResourceExpired(err) && options.Continue != "":
				pages, listed, options = nil, 0, metav1.ListOptions{} // all at once
				continue
			case apierrors.IsForbidden(err):
				return fmt.Errorf("missing right: list on %s in all namespaces; outage/cluster/clusterrole.yaml has all that "+
					"are needed: %w", resource, err)
			case err != nil:
				return fmt.Errorf("list %s: %w", resource, err)
			}
			pages = append(pages, answer)
			listed += meta.LenList(answer)
			of = listed + int(ptr.Deref(answer.GetRemainingItemCount(), 0))
			if options.Continue = answer.GetContinue(); options.Continue == "" {
				break
			}
		}
		for _, one := range pages {
			take(one)
		}
		return nil
	}
}
