// Package daemonset proves package rollout, and the controller of
// examples/daemonset that is made of it, on a real API server. Its tests
// compare what the controller does with what kube-controller-manager v1.37.1
// does to the same objects:
//
//   - Ours takes over from kube-controller-manager, rolls out and back, and
//     hands over again, and neither restarts a pod for it. Revisions, hashes,
//     labels and status mean the same to both.
//   - Answers of the API server are lost on the way, and no node ever gets a
//     second pod.
//   - The watch loses what we write ourselves, and nothing stands still.
//   - Pods and revisions are adopted and released as by
//     kube-controller-manager.
//
// Nodes are hollow: their kubelets are those of examples/hollownode. What binds
// pods to them, and records all of them, is in nodes_test.go.
package daemonset
