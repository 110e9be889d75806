package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The demonstration, in virtual time: the whole program with its informers,
// clients and dispatcher, and its own judgement of itself.
func TestDemonstrationHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s settings
		require.NoError(t, setDemoDefaults(command(&s).FlagSet()))
		require.NoError(t, s.Validate())
		started := time.Now()
		var out bytes.Buffer
		require.NoError(t, demonstrate(t.Context(), &s, &out), "%s", &out)
		require.Less(t, time.Since(started), 45*time.Second)
		t.Logf("%s", out.String()[bytes.Index(out.Bytes(), []byte("What the API server stored")):])
	})
}
