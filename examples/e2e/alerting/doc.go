// Package alerting plays series to the alert rules of examples/process/alerts,
// with the libraries that promtool uses.
package alerting
