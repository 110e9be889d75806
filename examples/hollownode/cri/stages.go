package cri

// startStage is how far a sandbox or a container is in its start:
//
//	idle ─► sandbox ─► done
//	idle ─► pull ─► start ─► hook ─► done
//
// The stages of which nothing is needed are left out. Each can fail.
type startStage uint8

const (
	stageIdle startStage = iota
	stageSandbox
	stagePull
	stageStart
	stageHook
)

// String returns the name of the stage.
func (s startStage) String() string {
	return [...]string{"idle", "sandbox", "pull", "start", "hook"}[s]
}

// failure returns the reason of a failure in this stage.
func (s startStage) failure() string {
	return [...]string{ReasonCreate, ReasonCreateSandbox, ReasonImagePull, ReasonCreate, ReasonPostStart}[s]
}

// stopStage is how far a container is in its stop:
//
//	none ─► hook ─► turn ─► signal ─► exited
//
// It can exit by itself in each. At the end of its grace period hook and turn
// are cut short.
type stopStage uint8

const (
	stopNone stopStage = iota
	stopHook
	stopTurn
	stopSignal
)

// String returns the name of the stage.
func (s stopStage) String() string {
	return [...]string{"none", "hook", "turn", "signal"}[s]
}
