package daemon

import appsv1 "k8s.io/api/apps/v1"

// The labels by which a pod says of which template it is.
const (
	revisionLabel   = appsv1.DefaultDaemonSetUniqueLabelKey
	generationLabel = "pod-template-generation"
)
