package scenario_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// expecting is settled with a script of three steps. The first line of what is
// expected is line 19.
const expecting = settled + `- {at: 5m, for: 10m, silence: {zone: a}}
- {at: 6m, crash: {}}
- {at: 7m, taint: {nodes: {zone: b}, key: x, effect: NoExecute}}
expect:
`

func TestExpectationsAreOneValueOrARange(t *testing.T) {
	s, err := scenario.Read("f.yaml", []byte(expecting+`  declared: {living: 0, dead: {atLeast: 3, atMost: 20}}
  tainted: {nodes: {atMost: 5}, times: {atLeast: 1}}
  evicted: {pods: 12, workloads: {web: 0, db: {atMost: 2}}}
  departures:
  - {step: 0, pods: 3, earliest: 90s, latest: {atMost: 6m}}
  - {step: 2, workload: web, latest: {atLeast: 0s}}
  suspended: false
  calls: {atMost: 900}
  failedCalls: 0
`))
	require.NoError(t, err)
	e := s.Expect
	require.Equal(t, ptr.To(scenario.Exactly(0)), e.Declared.Living)
	require.Equal(t, &scenario.Count{AtLeast: ptr.To(3), AtMost: ptr.To(20)}, e.Declared.Dead)
	require.Equal(t, scenario.Exactly(0), e.Evicted.Workloads["web"])
	require.Equal(t, ptr.To(scenario.Exactly(scenario.Duration(90*time.Second))), e.Departures[0].Earliest)
	require.Equal(t, "web", e.Departures[1].Workload)
	require.False(t, *e.Suspended)
	require.Equal(t, ptr.To(scenario.Exactly(0)), e.FailedCalls)
	for _, c := range []struct {
		bounds fmtStringer
		want   string
	}{
		{e.Evicted.Pods, "12"}, {e.Declared.Dead, "3 to 20"}, {e.Tainted.Nodes, "at most 5"}, {e.Tainted.Times, "at least 1"},
		{e.Departures[0].Earliest, "1m30s"}, {e.Departures[0].Latest, "at most 6m"}, {scenario.Count{}, "anything"},
	} {
		require.Equal(t, c.want, c.bounds.String())
	}
	for value, holds := range map[int]bool{2: false, 3: true, 20: true, 21: false} {
		require.Equal(t, holds, e.Declared.Dead.Hold(value), value)
	}
	require.False(t, e.Declared.Living.Hold(1))

	text, err := json.Marshal(e.Declared)
	require.NoError(t, err)
	require.JSONEq(t, `{"living": 0, "dead": {"atLeast": 3, "atMost": 20}}`, string(text), "what is exact is one value")
}

type fmtStringer interface{ String() string }

func TestWhatCannotBeExpectedIsSaidWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing": {"  {}\n", []string{
			`18:1: expect: says nothing; give it declared, tainted, evicted, departures, suspended, paused, calls or failedCalls`}},
		"nothing of a part": {"  tainted: {}\n", []string{
			`19:3: expect.tainted: says nothing; give it nodes or times`}},
		"an empty range": {"  calls: {}\n", []string{
			`19:3: expect.calls: says nothing; give it a value, or atLeast or atMost`}},
		"no value": {"  calls:\n", []string{
			`19:9: expect.calls: has no value; give it one or leave it out`}},
		"a misspelt field": {"  taintd: {nodes: 1}\n", []string{
			`19:3: expect.taintd: there is no field taintd; did you mean tainted?`}},
		"a misspelt bound": {"  calls: {atmost: 1}\n", []string{
			`19:11: expect.calls.atmost: there is no field atmost; did you mean atMost?`}},
		"a word": {"  tainted: {nodes: few}\n", []string{
			`19:20: expect.tainted.nodes: want a whole number, not few`}},
		"a fraction": {"  tainted: {times: {atMost: 1.5}}\n", []string{
			`19:29: expect.tainted.times.atMost: want a whole number, not 1.5`}},
		"a list": {"  calls: [1, 2]\n", []string{
			`19:10: expect.calls: want fields (atLeast, atMost), not a list`}},
		"negative": {"  tainted: {nodes: -1, times: {atLeast: -2}}\n", []string{
			`19:20: expect.tainted.nodes: is -1; want 0 or more`, `19:41: expect.tainted.times.atLeast: is -2; want 0 or more`}},
		"upside down": {"  calls: {atLeast: 5, atMost: 4}\n", []string{
			`19:3: expect.calls: atLeast is 5 and atMost is 4; the lesser comes first`}},
		"more nodes than there are": {"  declared: {dead: 41}\n", []string{
			`19:20: expect.declared.dead: is 41, but the cluster has 40 nodes`}},
		"a workload that does not exist": {"  evicted: {workloads: {webb: 3}}\n", []string{
			`19:31: expect.evicted.workloads.webb: there is no workload webb; did you mean web?`}},
		"a step that does not exist": {"  departures:\n  - {step: 3, pods: 1}\n", []string{
			`20:12: expect.departures[0].step: there is no step 3; the script has 3, counted from 0`}},
		"a step that hits no nodes": {"  departures:\n  - {step: 1, pods: 1}\n", []string{
			`20:12: expect.departures[0].step: crash does not hit nodes, which pods could leave`}},
		"no step": {"  departures:\n  - {pods: 1}\n", []string{
			`20:5: expect.departures[0].step: is missing`}},
		"a departure of nothing": {"  departures:\n  - {step: 0, workload: web}\n", []string{
			`20:5: expect.departures[0]: says nothing; give it pods, earliest or latest`}},
		"the same departures twice": {"  departures:\n  - {step: 0, pods: 1}\n  - {step: 0, pods: 2}\n", []string{
			`21:5: expect.departures[1]: is about the same pods as expect.departures[0]`}},
		"a time without a unit": {"  departures:\n  - {step: 0, latest: 5}\n", []string{
			`20:23: expect.departures[0].latest: 5 has no unit; write 5s if it is in seconds`}},
		"the last before the first": {"  departures:\n  - {step: 0, earliest: {atLeast: 2m}, latest: {atMost: 1m}}\n",
			[]string{
				`20:40: expect.departures[0].latest: is at most 1m, but the first pod leaves after at least 2m`}},
		"after the end": {"  departures:\n  - {step: 0, earliest: {atLeast: 26m}}\n", []string{
			`20:15: expect.departures[0].earliest: is at least 26m, but the scenario ends 25m after the step`}},
	} {
		t.Run(name, func(t *testing.T) {
			want := make([]string, len(c.want))
			for i, line := range c.want {
				want[i] = "f.yaml:" + line
			}
			require.Equal(t, want, complaints(t, expecting+c.text))
		})
	}
}

func TestExpectationsCanBeSet(t *testing.T) {
	s, err := scenario.Read("f.yaml", []byte(expecting+"  tainted: {nodes: 4}\n  calls: {atMost: 7}\n"))
	require.NoError(t, err)
	require.NoError(t, scenario.Set(s, "expect.tainted.nodes=5"))
	require.NoError(t, scenario.Set(s, "expect.calls.atMost=8"))
	require.NoError(t, scenario.Set(s, "expect.suspended=true"))
	require.Equal(t, "5", s.Expect.Tainted.Nodes.String())
	require.Equal(t, "at most 8", s.Expect.Calls.String())
	require.True(t, *s.Expect.Suspended)
	err = scenario.Set(s, "expect.tainted.nodes=few")
	require.ErrorContains(t, err, "few is not a whole number")
	require.ErrorContains(t, scenario.Set(s, "expect.declared.dead=1"), "the scenario has no expect.declared")
	require.NotContains(t, err.Error(), "atLeast")
}
