// Package cri is a container runtime as the loop of a node uses it: plans of
// steps go in, states of containers come out.
//
// [Runtime] is the interface. Nothing in it blocks, and time is an argument. A
// runtime is a core, so one implementation serves virtual and real time:
//
//	           Plan: sandbox, start, stop, remove
//	kubelet ──────────────────────────────────────► Runtime
//	   ▲                                               │
//	   └─ Event: a pod changed, or its plan has ended ─┘
//
// A pod has one plan at a time. Its steps run one after the other, and [Report]
// tells the result of each. The containers of one stop step are stopped
// together, each after those that it waits for. With [Plan].Notices a [Notice]
// tells at once of pulls, starts and failures, for Events.
//
// # The fake runtime
//
// [Fake] runs the containers of any number of nodes without running anything.
// Annotations of a pod say how its containers behave; see [ParseScript]. A
// container is created, started, stopped and killed like this:
//
//	Start ─► pull ─► start ─► Running ─► exits by itself ──────────► Exited
//	          │        │         │                                     ▲
//	        fails    fails       └► preStop ─► its turn ─► TERM, KILL ─┘
//
// A process that starts again has its containers from the statuses of their
// pods; see [Fake.Restore].
//
// A reboot of a node ends its containers with exit code 255 and reason Unknown,
// as containerd shows them. Images stay.
//
// # Limits
//
// Probes answer at once, and their timeouts do not matter. A container that is
// stopped twice runs its preStop hook once. Pulls of one image by several pods
// do not wait for each other. A node keeps the 100 images that it has used last
// and those of its containers. There is no disk that fills.
//
// The IPs of sandboxes are from one network, 10.0.0.0/8 unless another one is
// set. Each is of one sandbox at a time. Two fakes of one cluster need networks
// of their own.
package cri
