// Package serving answers a program's pages over HTTPS to callers that show an
// identity and may read them, as kube-controller-manager does. It bounds what
// all callers together can cost. The flags are commandline.Serving.
//
//	connection ─► limited ─► TLS ─► guard ─────────────────► page
//	              by number  files  always allowed? yes ──►  one at a time,
//	              and time   that   identity? no: 401        within 30 s,
//	                         rotate permitted? no: 403       within 8 MiB
//
// An identity is a bearer token that a TokenReview accepts, a client
// certificate, or headers of a proxy that has one. The authorities of
// certificates are those of a file or of the ConfigMap
// kube-system/extension-apiserver-authentication, and both are followed while
// they change. What an identity may read a SubjectAccessReview says, for the
// verb get and the page's path:
//
//	kind: ClusterRole
//	rules:
//	- nonResourceURLs: [/metrics, /pending]
//	  verbs: [get]
//
// The group system:masters may read all. The paths of
// --authorization-always-allow-paths, at first /healthz, /readyz and /livez,
// are answered without a question to the API server. So a probe succeeds while
// that is down.
//
// The program itself needs the ClusterRole system:auth-delegator and, in
// namespace kube-system, the Role extension-apiserver-authentication-reader.
// Its reviews have clients of their own and take nothing from --kube-api-qps.
//
// Without a cluster there is nothing to ask: then it is plain HTTP, on a
// loopback address only.
//
// # Differences from kube-controller-manager
//
//   - A request without credentials is answered 401, unless its path is always
//     allowed. There it is system:anonymous, and is answered 403, or 200 when a
//     role permits that user.
//   - A path that is always allowed is answered whatever the credentials are;
//     there a wrong token is answered 401.
//   - A token in the headers of a WebSocket is not read: no page is one.
//   - HTTP/1.1 only: one request for each connection at a time is a bound.
//   - A certificate in memory only: there is no --cert-dir.
package serving
