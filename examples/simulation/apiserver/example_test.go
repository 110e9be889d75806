package apiserver_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// A guarded patch that is late is refused, and a watch shows what was stored.
func Example() {
	var (
		now     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		nodes   = corev1.SchemeGroupVersion.WithResource("nodes")
		objects = apiserver.NewObjects(apiserver.Limits{})
		server  = apiserver.NewServer(objects, scheme.Scheme)
		options = apiserver.WriteOptions{}
		key     = apiserver.Key{Name: "a"}
	)
	watch, err := server.Watch(nodes, "", metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if _, err := server.Create(now, nodes, "", node, options); err != nil {
		fmt.Println(err)
	}
	taint := []byte(`[{"op":"test","path":"/spec/taints","value":null},
		{"op":"add","path":"/spec/taints","value":[{"key":"k","effect":"NoExecute"}]}]`)
	for range 2 {
		_, err := server.Patch(now, nodes, key, types.JSONPatchType, taint, options)
		fmt.Println("patched:", err == nil, "invalid:", apierrors.IsInvalid(err))
	}

	changes := make([]apiserver.Record, 10)
	n, _ := objects.Read(nodes, watch.Position, changes)
	for _, change := range changes[:n] {
		kind, object, _ := watch.Event(change)
		fmt.Println(kind, apiserver.MetaOf(object).GetResourceVersion())
	}
	// Output:
	// patched: true invalid: false
	// patched: false invalid: true
	// ADDED 2
	// MODIFIED 3
}
