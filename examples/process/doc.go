// Package process is what every controller program here needs besides its
// controller: a command line with exit codes ([Command]), a way to reach a
// cluster, the leader's election with a fence behind it, a server for metrics,
// health and pages, and all of that run together until a signal comes ([Program]).
//
//	main ──► Main ──► Command ──► Program ──► Controller
//	        signals    flags,      clients,     Observe: always
//	                   exit code   server,      Act:     while we lead
//	                               election     Idle:    until then
//
// A program names itself in a commandline.Process and says what to observe, what
// to do and what to do while another replica leads. The flags are in package
// commandline; package serving says which callers are answered.
//
// Besides the controller's metrics each program serves go_*, process_* and
// rest_client_*, named as those of kube-controller-manager. Of the last it leaves out
// the ones of exec plugins and certificates. There is no workqueue_*: these programs
// have no workqueue of client-go, and their dispatchers show their queues themselves.
package process
