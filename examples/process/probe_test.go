package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// An API server that says no has answered, so heartbeats would be heard. One
// that fails may be cut off from its storage.
func TestProbeTakesARefusalForAnAnswer(t *testing.T) {
	leases := coordinationv1.Resource("leases")
	for name, c := range map[string]struct {
		err      error
		answered bool
	}{
		"no such lease": {apierrors.NewNotFound(leases, "x"), true},
		"no right":      {apierrors.NewForbidden(leases, "x", errors.New("no role")), true},
		"failed":        {apierrors.NewInternalError(errors.New("etcd is gone")), false},
		"busy":          {apierrors.NewTooManyRequests("busy", 1), false},
		"no connection": {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, c.err
				})
				answers := 0
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
				defer stop()
				Probe(ctx, client, time.Second, func() { answers++ })
				require.Equal(t, c.answered, answers > 5, "%d answers", answers)
				require.Equal(t, c.answered, answers > 0)
			})
		})
	}
}
