// Package process is what every controller program here needs besides its
// controller: a command line with exit codes ([Command]), a way to reach a
// cluster, the leader's election with a fence behind it, an HTTP server for
// metrics and health, and all of that run together until a signal comes
// ([Program]).
//
//	main ──► Main ──► Command ──► Program ──► Controller
//	        signals    flags,      clients,     Observe: always
//	                   exit code   server,      Act:     while we lead
//	                               election     Idle:    until then
//
// A program names itself in a commandline.Process and says what to observe, what
// to do and what to do while another replica leads. The flags are in package
// commandline.
package process
