package kubelet

// StartReason says why a container is started.
type StartReason string

const (
	// StartNew: it has no run in this sandbox.
	StartNew StartReason = "New"
	// StartExited: it has exited and its policy restarts it.
	StartExited StartReason = "Exited"
	// StartFailed: it was created and could not be started.
	StartFailed StartReason = "Failed"
	// StartAfterKill: it is stopped first; see [Kill].
	StartAfterKill StartReason = "AfterKill"
)

// KillReason says why a container is stopped.
type KillReason string

const (
	// KillChanged: the definition of the container has changed.
	KillChanged KillReason = "Changed"
	// KillLiveness: its liveness probe has failed.
	KillLiveness KillReason = "LivenessProbe"
	// KillStartup: its startup probe has failed.
	KillStartup KillReason = "StartupProbe"
	// KillUnknown: nothing is known of it, and it may run.
	KillUnknown KillReason = "Unknown"
	// KillReset: all containers of the pod restart.
	KillReset KillReason = "RestartAllContainers"
)
