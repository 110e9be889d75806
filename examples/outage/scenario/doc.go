// Package scenario is the language of the outage simulator. A scenario has a
// cluster, the controller's settings, and a script of what goes wrong and when.
// It is data only; it says nothing of how a scenario is run.
//
// A scenario is a YAML file:
//
//	name: half-a-zone
//	description: Half of zone a loses its network for ten minutes.
//	duration: 30m
//	seed: 7
//	cluster:
//	  zones:
//	  - {name: a, nodes: 60, racks: 6}
//	  - {name: b, nodes: 60}
//	  workloads:
//	  - {name: web, kind: Deployment, replicas: 600}
//	  - {name: db, kind: StatefulSet, replicas: 30, tolerationSeconds: 60}
//	  - {name: agent, kind: DaemonSet}
//	controller:
//	  replicas: 2
//	  flags: {node-eviction-rate: 0.5}
//	script:
//	- at: 5m
//	  for: 10m
//	  recoverOver: 1m
//	  silence: {zone: a, share: 0.5}
//	- at: 6m
//	  crash: {}
//	expect:
//	  declared: {living: 0, dead: 30}
//	  tainted: {nodes: {atLeast: 25, atMost: 30}}
//	  evicted: {workloads: {db: {atMost: 15}, agent: 0}}
//	  departures:
//	  - {step: 0, workload: db, earliest: {atLeast: 1m50s}}
//	  suspended: false
//
// Each step of the script says when it begins and exactly one fault; [Step]
// lists them. Nodes are called after their zone, a-0 to a-59, and node i stands
// in rack i modulo racks. Where nodes are not alike, [Group]s
// divide those of a zone by pool, rack and taints. A [Workload] then says how
// many of its pods are placed on each.
//
// A rule replaces the pods of a DaemonSet where they are gone. With daemonSets:
// controller in the cluster it is examples/daemonset that makes them, and a step
// can roll a DaemonSet out: {at: 7m, rollOut: {workload: agent}}. A DaemonSet that
// is placed keeps to the nodes where it begins.
//
// Durations are written as in Go, 1h30m. Flags are
// those of nodelifecycle, whose defaults are those of kube-controller-manager
// v1.37. Whatever is left out has the default that the comment of its field
// names.
//
// Expect says what must come out, whatever the seed: each number is one value
// or a range, {atLeast: 3, atMost: 5}; [Expect] lists them. Derive them from
// the flags and the script, with the arithmetic in a comment, before the first
// run. The program outage shows what came out next to them, and with --check
// fails if one does not hold.
//
// [Read] is strict. A field that does not exist or is given twice is an error.
// So are a value of the wrong type, an impossible one, and two that contradict
// each other. Errors say in which line, where in the scenario, and what there
// is instead. All of them are reported at once. YAML's anchors, aliases and
// tags are not part of the language.
//
// [Write] writes a scenario that was made in Go as a file, and [Set] changes
// one value as a command line does. [Scenario.Validate] checks it, and
// [Scenario.Defaulted] fills in what was left out. Nothing here is safe for use
// by several goroutines if one of them changes the scenario.
package scenario
