module github.com/kubelife/lifecycle/examples

go 1.26.0

require (
	github.com/kubelife/lifecycle v0.0.0
	github.com/prometheus/client_golang v1.24.0
	github.com/spf13/pflag v1.0.10
	k8s.io/api v0.37.1
	k8s.io/apimachinery v0.37.1
	k8s.io/client-go v0.37.1
	k8s.io/klog/v2 v2.140.0
)

replace github.com/kubelife/lifecycle => ../
