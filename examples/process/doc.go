// Package process is what every controller program here needs besides its
// controller. A [Command] is a command line with exit codes. A [Program]
// reaches a cluster, elects a leader with a fence behind it, serves metrics,
// health and pages, and runs until a signal comes.
//
//	main ──► Main ──► Command ──► Program ──► Controller
//	        signals    flags,      clients,     Observe: always
//	                   exit code   server,      Act:     while we lead
//	                               election     Idle:    until then
//
// A program names itself in a commandline.Process and says what to observe,
// what to do and what to do while another replica leads. The flags are in
// package commandline; package serving says which callers are answered.
//
// # Differences from kube-controller-manager
//
//   - A leader that is stuck, or whose caches never fill, ends, and /healthz
//     says so. There it leads on.
//   - Writes are not sent any more once the leader's lease may be lost. There
//     what is under way is finished.
//   - Replicas that wait watch the cluster, so that they know which nodes are
//     silent when they take over. There they know nothing.
//   - Next to the controller's metrics each program serves go_*, process_* and
//     rest_client_*. Of the last it leaves out those of exec plugins and
//     certificates. There is no workqueue_*: the programs have no workqueue of
//     client-go, and their dispatchers show their queues.
package process
