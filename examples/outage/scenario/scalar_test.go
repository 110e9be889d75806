package scenario_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

func TestDurationsAreWrittenWithoutEmptyUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                              "0s",
		time.Nanosecond:                "1ns",
		1500 * time.Millisecond:        "1.5s",
		10 * time.Second:               "10s",
		10 * time.Minute:               "10m",
		-10 * time.Minute:              "-10m",
		time.Minute + 10*time.Second:   "1m10s",
		20 * time.Hour:                 "20h",
		time.Hour + 30*time.Minute:     "1h30m",
		time.Hour + 30*time.Second:     "1h0m30s",
		time.Hour + 10*time.Nanosecond: "1h0m0.00000001s",
	} {
		require.Equal(t, want, scenario.Duration(d).String())
	}
}

func TestDurationsSurviveJSON(t *testing.T) {
	for _, d := range []time.Duration{0, 1, -1, 999, time.Hour, math.MaxInt64, math.MinInt64, 3*time.Hour + 7} {
		data, err := json.Marshal(scenario.Duration(d))
		require.NoError(t, err)
		var back scenario.Duration
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, d, back.D())
	}
}

func TestDurationsNeedAUnit(t *testing.T) {
	for text, want := range map[string]string{
		"30":    "30 has no unit; write 30s if it is in seconds",
		"-1.5":  "-1.5 has no unit; write -1.5s if it is in seconds",
		"":      `"" is no duration; write it like 90s, 5m or 1h30m`,
		"5 m":   `"5 m" is no duration; write it like 90s, 5m or 1h30m`,
		"1d":    `"1d" is no duration; write it like 90s, 5m or 1h30m`,
		"true":  `"true" is no duration; write it like 90s, 5m or 1h30m`,
		"1h30":  `"1h30" is no duration; write it like 90s, 5m or 1h30m`,
		"5e9ns": `"5e9ns" is no duration; write it like 90s, 5m or 1h30m`,
	} {
		var d scenario.Duration
		require.EqualError(t, d.UnmarshalText([]byte(text)), want)
	}
	var d scenario.Duration
	require.NoError(t, d.UnmarshalText([]byte("0")), "0 is the same in every unit")
	require.Error(t, json.Unmarshal([]byte("30"), &d), "a number of JSON has no unit")
}
