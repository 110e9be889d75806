package alerts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSelectorsOfAnExpression(t *testing.T) {
	require.Equal(t, []Selector{
		{Metric: "a_total", Values: map[string][]string{"kind": {"x", "y"}, "job": {"j_k"}}},
		{Metric: "b_c", Values: map[string][]string{}},
	}, selectors(`max_over_time(a_total{kind=~"x|y",job="j_k"}[5m]) > 3 unless on (job) b_c or up{job="d_e"} == 0`))
}

func TestSelectorsOfAGroup(t *testing.T) {
	for _, group := range []string{"programs", "nodelifecycle"} {
		found, err := Selectors(group)
		require.NoError(t, err)
		require.NotEmpty(t, found)
	}
	_, err := Selectors("others")
	require.EqualError(t, err, `no alert rule of group "others" asks for a metric`)
}
