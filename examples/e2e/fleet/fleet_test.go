package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAllNodesMixZones(t *testing.T) {
	f := &Fleet{nodes: map[string][]string{"b": {"b-0000", "b-0001"}, "a": {"a-0000", "a-0001", "a-0002"}}}
	require.Equal(t, []string{"a-0000", "b-0000", "a-0001", "b-0001", "a-0002"}, f.AllNodes())
	require.Equal(t, []string{"b-0000", "b-0001"}, f.Nodes("b"))
}
