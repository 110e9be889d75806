package kubelet

// Rejection is why a node does not take a pod. The zero value is none.
type Rejection struct {
	Reason, Message string
}
