// Package federation is the API of the example. Clusters send heartbeats and
// have taints. A binding puts a workload on some clusters and tolerates some of
// their taints. Karmada has such objects. These are smaller, and their fields
// are the example's own.
//
// The package needs no controller-runtime. CRDs is what the API server wants to
// know of the types; a test compares both.
package federation

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRDs returns the CustomResourceDefinitions of the types, in YAML.
func CRDs() []byte { return []byte(crds) }

//go:embed crds.yaml
var crds string

// GroupVersion returns the group and version of the types.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "federation.example.com", Version: "v1"}
}

// AddToScheme adds the types to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &Cluster{}, &ClusterList{}, &Binding{}, &BindingList{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}

// ConditionReady is the condition of a cluster that its agent writes with each
// heartbeat. False says that the cluster runs no workloads well. It becomes
// Unknown when the heartbeats stop.
const ConditionReady = "Ready"

// A Cluster sends heartbeats by an agent of its own.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   ClusterSpec   `json:"spec,omitzero"`
	Status ClusterStatus `json:"status,omitzero"`
}

// ClusterSpec is what administrators and controllers write.
type ClusterSpec struct {
	// Region is what the cluster shares its network and power with.
	Region string `json:"region,omitempty"`
	// Taints keep bindings away, or with NoExecute make them leave.
	Taints []corev1.Taint `json:"taints,omitempty"`
}

// ClusterStatus is what the agent of the cluster writes.
type ClusterStatus struct {
	// LastHeartbeatTime changes with each heartbeat. Only its change counts, never
	// its value.
	LastHeartbeatTime *metav1.MicroTime  `json:"lastHeartbeatTime,omitempty"`
	Conditions        []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterList is a list of clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Cluster `json:"items"`
}

// A Binding puts a workload on clusters.
type Binding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec BindingSpec `json:"spec"`
}

// BindingSpec says where the workload is, and which taints it tolerates there.
type BindingSpec struct {
	// Clusters are where it is, each once.
	Clusters    []TargetCluster     `json:"clusters"`
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// A TargetCluster is a cluster that a binding puts its workload on.
type TargetCluster struct {
	Name string `json:"name"`
	// Replicas is how many of the workload's replicas are there. It goes with the
	// binding to another cluster.
	Replicas int32 `json:"replicas,omitempty"`
	// BoundAt is when the binding came to this cluster. A toleration counts from
	// then, or from the taint's TimeAdded if that is later. A binding that left
	// and came back has come when it came back.
	BoundAt *metav1.Time `json:"boundAt,omitempty"`
}

// BindingList is a list of bindings.
type BindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Binding `json:"items"`
}
