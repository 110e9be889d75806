// Package kubelets runs the kubelets of examples/hollownode on the machines of
// a world of examples/outage/model.
//
//	k, err := kubelets.New(world)
//	...
//	world.Run(k)
//
// So the controller that is tried out meets the same nodes as on a real API
// server. They are the loop, the edge and the fake runtime of hollownode, with
// the heartbeats of nodehealth/heartbeat. All of it runs in the world's time,
// on the world's goroutine, and the same seed gives the same run.
//
// # What the world's faults are to a kubelet
//
//   - A silent machine is silent: its heartbeats are paused, and its containers go
//     on.
//   - Without an API server for kubelets, renewals fail and are retried, and
//     pods are as on a silent machine.
//   - A machine that is not ready has no network for pods. Its kubelet finds
//     that at once because it starts again. So its pods go on and can end, as
//     with the model's own. No pod starts there meanwhile.
//   - Memory pressure is that of the kubelet, which admits fewer pods then.
//   - A machine whose node is deleted is gone with its containers. Its pods
//     start again when a node of its name registers.
//
// # What is left out
//
// Tests do not play the cases flapping-nodes, flapping-zone, silent-cluster,
// silent-zone and stale-leases with these kubelets. A run of one takes half a
// minute or a minute of CPU, and a comparison needs 24 more with the rules. All
// other cases and scenarios are played.
//
// Kubelets write to the newest state and hear of each change at once, as all
// but the controllers do in a world. The capacity of a node has no end. Each
// pod has one container. It takes two seconds to start and one to stop, as with
// the model's own kubelets.
package kubelets
