// Package apiserver runs the table of calls and answers of
// examples/simulation/apiserver/conformance against kube-apiserver v1.37.1.
// What the table says is true of that server, and so of each model that passes
// the same table.
package apiserver
