package daemon

import "github.com/kubelife/lifecycle/daemon/revision"

// The labels of a pod that name the template that it is made from.
const (
	revisionLabel   = revision.HashLabel
	generationLabel = "pod-template-generation"
)
