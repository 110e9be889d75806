package controlplane

import "path"

// Binary is a program that [Build] or [Install] can build: the import path of
// its main package. For Build the package must be among the tools in this
// module's go.mod, which pin its version.
type Binary string

// The programs of a control plane. [Start] uses the first two.
const (
	Etcd                  Binary = "go.etcd.io/etcd/server/v3"
	KubeAPIServer         Binary = "k8s.io/kubernetes/cmd/kube-apiserver"
	KubeControllerManager Binary = "k8s.io/kubernetes/cmd/kube-controller-manager"
	KubeScheduler         Binary = "k8s.io/kubernetes/cmd/kube-scheduler"
	Kubectl               Binary = "k8s.io/kubernetes/cmd/kubectl"
)

// Binaries lists the programs above.
func Binaries() []Binary {
	return []Binary{Etcd, KubeAPIServer, KubeControllerManager, KubeScheduler, Kubectl}
}

// Name is the program's file name.
func (b Binary) Name() string {
	if b == Etcd {
		return "etcd" // the path ends in the module's major version
	}
	return path.Base(string(b))
}
