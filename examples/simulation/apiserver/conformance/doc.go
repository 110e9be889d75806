// Package conformance is one table of calls to an API server and of the answers
// that kube-apiserver v1.37.1 gives to them. A test runs it against that
// server, in examples/e2e, and each model of it in this module is held to the
// same table.
//
// A [Case] is a list of steps in a namespace of its own. A [Step] is a [Call],
// written as JSON is sent, and the [Answer]. An answer is the code, reason and
// causes of a refusal, the fields of an object that matter, the events of a
// watch. Messages
// are not compared: no client should depend on them.
//
// A step may keep the object that it was answered with, and later steps refer
// to what was kept:
//
//	{Call: create(Pods, "p", pod), Keep: "first"},
//	{Call: remove(Pods, "p", `{"preconditions":{"uid":"{first.uid}"}}`)},
//
// {first.uid} and {first.version} stand for the UID and the resourceVersion of
// the object. {ns} stands for the namespace of the case, and {expired} for a
// version whose changes the server no longer keeps.
//
// [Check] plays one case and returns what differs. [Run] plays all of them as
// subtests.
package conformance
