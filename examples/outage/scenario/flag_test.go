package scenario_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

const everyFlag = "action, budget-burst, budget-overall, budget-per-namespace, budget-per-node, " +
	"concurrent-node-syncs, confirm, " +
	"evict-for, eviction-mode, kube-api-burst, kube-api-qps, large-cluster-size-threshold, " +
	"leader-elect, leader-elect-lease-duration, leader-elect-renew-deadline, leader-elect-retry-period, " +
	"low-priority-first, " +
	"min-healthy-share, node-blind-after, node-declare-unconfirmed, node-eviction-rate, node-eviction-zone-share, " +
	"node-heartbeat-interval, node-monitor-grace-period, " +
	"node-monitor-period, node-recovery-period, " +
	"node-startup-grace-period, pause-while-zone-down, pod-eviction-timeout, " +
	"resume-delay, resume-healthy-share, secondary-node-eviction-rate, " +
	"spare-daemonset-pods, spare-finished-pods, spare-mirror-pods, unhealthy-zone-threshold"

func TestFlagsAreThoseOfTheController(t *testing.T) {
	const head = `
name: x
duration: 1h
cluster: {zones: [{name: a, nodes: 3}]}
controller:
  flags:`
	for _, c := range []badFile{
		{"misspelt", head + `
    node-evicton-rate: 1
    rate-of-evictions: 5m`, []string{
			`6:24: controller.flags.node-evicton-rate: there is no flag node-evicton-rate; did you mean node-eviction-rate?`,
			`7:24: controller.flags.rate-of-evictions: there is no flag rate-of-evictions; flags are ` + everyFlag}},
		{"of the wrong type", head + `
    node-eviction-rate: fast
    node-monitor-period: 5
    confirm: maybe
    kube-api-burst: 1.5`, []string{
			`6:25: controller.flags.node-eviction-rate: "fast" is no value for this flag; want a number`,
			`7:26: controller.flags.node-monitor-period: "5" is no value for this flag; want a duration like 90s`,
			`8:14: controller.flags.confirm: "maybe" is no value for this flag; want true or false`,
			`9:21: controller.flags.kube-api-burst: "1.5" is no value for this flag; want a whole number`}},
		{"without a value", head + `
    node-eviction-rate:
    kube-api-burst: [1]`, []string{
			`6:24: controller.flags.node-eviction-rate: has no value; give it one or leave it out`,
			`7:21: controller.flags.kube-api-burst: want a single value, not a list`}},
		{"given twice", head + `
    node-eviction-rate: 1
    node-eviction-rate: 2`, []string{
			`7:5: controller.flags.node-eviction-rate: is given twice; the first time in line 6`}},
		{"impossible", head + `
    node-eviction-rate: -1
    node-monitor-grace-period: 0s`, []string{
			`6:25: controller.flags.node-eviction-rate: --node-eviction-rate is -1, want zero or more`,
			`7:32: controller.flags.node-monitor-grace-period: --node-monitor-grace-period is 0s, want a positive duration`}},
		{"impossible next to a default", head + `
    leader-elect-lease-duration: 5s`, []string{
			`6:34: controller.flags.leader-elect-lease-duration: --leader-elect-renew-deadline 10s must be less than ` +
				`--leader-elect-lease-duration 5s`}},
		{"impossible next to one that cannot be read", head + `
    leader-elect-lease-duration: 5s
    leader-elect-renew-deadline: short`, []string{
			`7:34: controller.flags.leader-elect-renew-deadline: "short" is no value for this flag; want a duration like 90s`}},
		{"no list of flags", `
name: x
duration: 1h
cluster: {zones: [{name: a, nodes: 3}]}
controller: {flags: [--node-eviction-rate=1]}`, []string{
			`4:21: controller.flags: want names and values, not a list`}},
	} {
		c.run(t)
	}
}

func TestOptionsHaveTheFlags(t *testing.T) {
	c := scenario.Controller{Flags: map[string]scenario.FlagValue{"node-eviction-rate": "1e1", "confirm": "true"}}
	o, err := c.Options()
	require.NoError(t, err)
	require.Equal(t, 10.0, o.EvictionRate)
	require.True(t, o.Evicting.Confirm)
	require.Equal(t, 50*time.Second, o.MonitorGracePeriod, "the default of kube-controller-manager v1.37")
}

func TestOptionsRefuseWhatValidateRefuses(t *testing.T) {
	c := scenario.Controller{Flags: map[string]scenario.FlagValue{"node-eviction-rate": "-1", "rate": "1"}}
	_, err := c.Options()
	require.EqualError(t, err, "controller.flags.rate: there is no flag rate; flags are "+everyFlag+
		"\ncontroller.flags.node-eviction-rate: --node-eviction-rate is -1, want zero or more")
}

func TestFlagValuesStayAsTheyWereWritten(t *testing.T) {
	for _, c := range []struct{ text, json string }{
		{"0.1", `0.1`},
		{"0.10", `0.10`},
		{"1e3", `1e3`},
		{"-0", `-0`},
		{"true", `true`},
		{"50s", `"50s"`},
		{"", `""`},
		{".5", `".5"`},
		{"01", `"01"`},
		{"Inf", `"Inf"`},
		{"null", `"null"`},
		{" 1", `" 1"`},
		{"{}", `"{}"`},
		{`"`, `"\""`},
	} {
		t.Run(c.text, func(t *testing.T) {
			data, err := json.Marshal(scenario.FlagValue(c.text))
			require.NoError(t, err)
			require.Equal(t, c.json, string(data))
		})
	}
}
