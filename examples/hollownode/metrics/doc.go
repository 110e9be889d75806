// Package metrics serves what the kubelets of a fleet count. The names and
// labels are those of the kubelet v1.37, and the values are sums over the
// fleet. What only this program has begins with hollownode_.
//
//	Fleet.NodeStates, Fake.Counts ──when asked──► kubelet_..., hollownode_nodes
//	tasks and heartbeats ────as they end────► hollownode_...
//
// # Differences from the kubelet
//
//   - Counters begin again with each leadership, and not when a kubelet of the
//     fleet starts again.
//   - Numbers are those of the moment at which they are asked for. There those
//     of containers change with each relist, and those of pods every 2 s.
//   - A label with few values has all of them from the start, with zero.
//
// # What is not here
//
//   - What the fleet has not: cgroups, devices, volumes, resize, eviction,
//     preemption, namespaces of users, host processes, images that are removed.
//   - Durations of relists, syncs and calls of the runtime. Here they take no
//     time.
//   - Durations of starts and pulls, and of writes of statuses. The times in the
//     status of a pod tell the same.
//   - Pods by their worker, and what each kubelet is told to run. The API tells
//     the same.
//   - Starts that fail, and how containers end. Events and statuses tell that.
//   - What one kubelet says of itself: its node, its start, its version.
package metrics
