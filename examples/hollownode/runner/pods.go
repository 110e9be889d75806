package runner

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
)

// podsOfNamespace returns the client of the pods of a namespace. One that has a
// connection does not decode the answers to patches, because the watch shows
// the pod.
func podsOfNamespace(client typed.CoreV1Interface, namespace string) edge.PodClient {
	pods := client.Pods(namespace)
	if connection, ok := client.RESTClient().(*rest.RESTClient); ok && connection != nil {
		return tersePods{pods, connection, namespace}
	}
	return pods // of a cluster in memory
}

// tersePods is a client whose patches return no pod.
type tersePods struct {
	typed.PodInterface
	connection *rest.RESTClient
	namespace  string
}

func (p tersePods) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
	subresources ...string,
) (*corev1.Pod, error) {
	return nil, p.connection.Patch(kind).
		Namespace(p.namespace).Resource("pods").Name(name).SubResource(subresources...).
		VersionedParams(&options, scheme.ParameterCodec).Body(data).Do(ctx).Error()
}
