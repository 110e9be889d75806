package taints

import (
	_ "github.com/stretchr/testify/require"
	_ "golang.org/x/time/rate"
	_ "k8s.io/client-go/kubernetes/fake"
	_ "k8s.io/component-helpers/node/topology"
)
