// Package tables holds which test tables of the kubelet v1.37.1 are tests of
// examples/hollownode/kubelet, how many of their cases, and why not the others.
//
// Its test counts the cases in the sources of both, so that neither number is
// only claimed. The table of all is in this package's tables.go.
package tables
