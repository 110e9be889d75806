package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Each iteration patches one of 1,000 nodes with the status that a kubelet
// writes, 50 images among it, from all processors while one watcher reads
// along.
func BenchmarkPatch(b *testing.B) {
	b.Run("status, strategic merge", func(b *testing.B) {
		benchmarkPatch(b, strategicPatch, func(_ *corev1.Node, i int) []byte {
			return fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"r%d"}]}}`, i)
		}, "status")
	})
	b.Run("taints, JSON patch with tests", func(b *testing.B) {
		benchmarkPatch(b, operationsPatch, func(node *corev1.Node, i int) []byte {
			return fmt.Appendf(nil, `[{"op":"test","path":"/metadata/uid","value":%q},`+
				`{"op":"add","path":"/spec/taints","value":[{"key":"k","value":"v%d","effect":"NoExecute"}]}]`, node.UID, i)
		})
	})
	b.Run("labels, merge", func(b *testing.B) {
		benchmarkPatch(b, mergePatch, func(_ *corev1.Node, i int) []byte {
			return fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, i)
		})
	})
}

func benchmarkPatch(b *testing.B, kind types.PatchType, patch func(node *corev1.Node, i int) []byte,
	subresources ...string) {
	cluster, ctx := NewCluster(), context.Background()
	nodes := benchmarkNodes(b, cluster, 1000)
	readAlong(b, cluster)
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(next.Add(1))
			node := nodes[i%len(nodes)]
			_, err := cluster.CoreV1().Nodes().Patch(ctx, node.Name, kind, patch(node, i), metav1.PatchOptions{},
				subresources...)
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "patches/s")
}

func readAlong(b *testing.B, client kubernetes.Interface) {
	b.Helper()
	seconds := int64(3600)
	w, err := client.CoreV1().Nodes().Watch(context.Background(), metav1.ListOptions{TimeoutSeconds: &seconds})
	if err != nil {
		b.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for event := range w.ResultChan() {
			if event.Object == nil {
				b.Error("an event without an object")
			}
		}
	})
	b.Cleanup(func() {
		w.Stop()
		reader.Wait()
	})
}

func benchmarkNodes(b *testing.B, client kubernetes.Interface, n int) []*corev1.Node {
	b.Helper()
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i)}}
		for _, condition := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: condition, Status: corev1.ConditionFalse, Reason: "Kubelet",
				Message: "the kubelet has something to say about it",
			})
		}
		for image := range 50 {
			node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
				Names:     []string{fmt.Sprintf("registry.example.com/some/image-%d:v1.2.3", image)},
				SizeBytes: 123_456_789,
			})
		}
		created, err := client.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		nodes[i] = created
	}
	return nodes
}

func BenchmarkListPods(b *testing.B) {
	cluster, ctx := NewCluster(), context.Background()
	for i := range 10_000 {
		_, err := cluster.CoreV1().Pods("default").
			Create(ctx, podNamed(fmt.Sprintf("pod-%05d", i), "n"), metav1.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		list, err := cluster.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 10_000 {
			b.Fatal(len(list.Items), err)
		}
	}
}

func BenchmarkNewCluster(b *testing.B) {
	for b.Loop() {
		NewCluster()
	}
}
