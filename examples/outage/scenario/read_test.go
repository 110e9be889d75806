package scenario_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// settled is a cluster to which the steps below happen. The first line of a
// step is line 15.
const settled = `name: test
duration: 30m
cluster:
  zones:
  - {name: a, nodes: 20, racks: 4}
  - {name: b, nodes: 10}
  - {name: east, nodes: 10}
  workloads:
  - {name: web, replicas: 50}
  - {name: db, kind: StatefulSet, replicas: 5}
  - {name: agent, kind: DaemonSet}
  - {name: sys, replicas: 3, tolerateForever: true}
controller: {replicas: 2}
script:
`

// complaints reads the text and returns what is wrong with it, a line each.
func complaints(t *testing.T, text string) []string {
	t.Helper()
	s, err := scenario.Read("f.yaml", []byte(text))
	if err == nil {
		require.NotNil(t, s)
		return nil
	}
	require.Nil(t, s)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "want joined problems, got %T", err)
	for _, each := range joined.Unwrap() {
		var p scenario.Problem
		require.ErrorAs(t, each, &p)
	}
	return strings.Split(err.Error(), "\n")
}

// A step is read in settled; f.yaml is left out of what is wanted.
type badStep struct {
	name string
	step string
	want []string
}

func (c badStep) run(t *testing.T) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		want := make([]string, len(c.want))
		for i, line := range c.want {
			want[i] = "f.yaml:" + line
		}
		require.Equal(t, want, complaints(t, settled+strings.TrimPrefix(c.step, "\n")))
	})
}

const (
	everyFault = "silence, notReady, flap, flapReady, pressure, delete, move, cordon, taint, touch, nodeClocks, " +
		"clockDrift, hostile, deletePods, tolerate, rollOut, apiDown, apiBlink, readOnlyStore, apiErrors, apiLatency, lostAnswers, slowLists, " +
		"staleWatch, brokenWatch, crash, pause, suspend, controllerClock, splitBrain, halt"
	stepFields = "at, for, over, recoverOver, " + everyFault
)

func TestTheSettledClusterIsValid(t *testing.T) {
	require.Empty(t, complaints(t, settled+"- {at: 5m, silence: {zone: a}}"))
}

func TestStepsSayWhenAndOneFault(t *testing.T) {
	for _, c := range []badStep{
		{"no time", `
- silence: {all: true}`, []string{
			`15:3: script[0].at: is missing`}},
		{"no fault", `
- at: 5m`, []string{
			`15:3: script[0]: nothing happens; give it one of ` + everyFault}},
		{"two faults", `
- at: 5m
  silence: {zone: a}
  notReady: {zone: b}`, []string{
			`15:3: script[0]: has 2 faults, silence and notReady; make a step of each`}},
		{"a fault misspelt", `
- at: 5m
  silense: {zone: a}`, []string{
			`16:3: script[0].silense: there is no field silense; did you mean silence?`}},
		{"a fault that does not exist", `
- at: 5m
  explode: {}`, []string{
			`16:3: script[0].explode: there is no field explode; fields are ` + stepFields}},
		{"a step that is none", `
- silence`, []string{
			`15:3: script[0]: want fields (` + stepFields + `), not silence`}},
		{"after the end", `
- at: 30m
  silence: {all: true}`, []string{
			`15:7: script[0].at: is 30m, but the scenario ends after 30m`}},
		{"before the beginning", `
- at: -1m
  silence: {all: true}`, []string{
			`15:7: script[0].at: is -1m; time does not run backwards`}},
		{"ends before it begins", `
- at: 1m
  for: -1m
  silence: {all: true}`, []string{
			`16:8: script[0].for: is -1m; time does not run backwards`}},
		{"for no time, which is for good", `
- at: 1m
  for: 0s
  silence: {all: true}`, []string{
			`16:8: script[0].for: 0s is the same as leaving it out, which means for good; leave it out or give it` +
				` another value`}},
		{"for longer than can be", `
- at: 1m
  for: 721h
  silence: {all: true}`, []string{
			`16:8: script[0].for: is 721h; at most 720h`}},
		{"an end of what has none", `
- at: 1m
  for: 5m
  touch: {zone: a}
- at: 1m
  for: 5m
  deletePods: {workload: web}
- at: 1m
  for: 5m
  tolerate: {pods: {workload: web}, seconds: 5}
- at: 1m
  over: 1m
  recoverOver: 1m
  touch: {zone: a}`, []string{
			`16:8: script[0].for: touch has no end; leave out for`,
			`19:8: script[1].for: deletePods has no end; leave out for`,
			`22:8: script[2].for: tolerate has no end; leave out for`,
			`26:16: script[3].recoverOver: touch has no end; leave out recoverOver`}},
		{"spread over nothing", `
- at: 1m
  for: 1m
  over: 5m
  recoverOver: 1m
  crash: {}`, []string{
			`17:9: script[0].over: crash does not hit nodes, over which it could be spread; leave out over`,
			`18:16: script[0].recoverOver: crash does not hit nodes, over which it could be spread; leave out recoverOver`}},
		{"recovery without an end", `
- at: 1m
  recoverOver: 1m
  silence: {all: true}`, []string{
			`16:16: script[0].recoverOver: needs for, which says when it ends`}},
		{"recovered before hit", `
- at: 1m
  over: 10m
  for: 1m
  recoverOver: 2m
  silence: {all: true}`, []string{
			`16:9: script[0].over: is 10m, but the last nodes recover after 3m; they would before they are hit`}},
		{"twice", `
- at: 1m
  at: 2m
  splitBrain: {}`, []string{
			`16:3: script[0].at: is given twice; the first time in line 15`}},
	} {
		c.run(t)
	}
}

func TestNodesOfAStepExist(t *testing.T) {
	for _, c := range []badStep{
		{"no such zone", `
- at: 5m
  silence: {zone: d}`, []string{
			`16:19: script[0].silence.zone: there is no zone d; zones are a, b, east`}},
		{"a zone misspelt", `
- at: 5m
  silence: {zone: eats}`, []string{
			`16:19: script[0].silence.zone: there is no zone eats; did you mean east?`}},
		{"no such rack anywhere", `
- at: 1m
  silence: {rack: 4}`, []string{
			`16:19: script[0].silence.rack: there is no rack 4 in any zone; the last is 3`}},
		{"no such rack in the zone", `
- at: 1m
  silence: {zone: b, rack: 1}`, []string{
			`16:28: script[0].silence.rack: there is no rack 1 in zone b; the last is 0`}},
		{"a rack below 0", `
- at: 1m
  silence: {zone: b, rack: -1}`, []string{
			`16:28: script[0].silence.rack: is -1; racks are counted from 0`}},
		{"no such nodes", `
- at: 1m
  silence:
    names: [a-0, a-20, b-01, c-1, b, "", b--1]`, []string{
			`17:18: script[0].silence.names[1]: there is no node a-20; nodes are a-0 to a-19, b-0 to b-9, east-0 to east-9`,
			`17:24: script[0].silence.names[2]: there is no node b-01; nodes are a-0 to a-19, b-0 to b-9, east-0 to east-9`,
			`17:30: script[0].silence.names[3]: there is no node c-1; nodes are a-0 to a-19, b-0 to b-9, east-0 to east-9`,
			`17:35: script[0].silence.names[4]: there is no node b; nodes are a-0 to a-19, b-0 to b-9, east-0 to east-9`,
			`17:38: script[0].silence.names[5]: there is no node ""; nodes are a-0 to a-19, b-0 to b-9, east-0 to east-9`,
			`17:42: script[0].silence.names[6]: there is no node b--1; nodes are a-0 to a-19, b-0 to b-9, east-0 to east-9`}},
		{"names of another zone", `
- at: 1m
  silence: {zone: b, names: [a-0, b-0]}`, []string{
			`16:30: script[0].silence.names[0]: a-0 is in zone a, not in b`}},
		{"names of another rack", `
- at: 1m
  silence: {names: [a-1], rack: 2}`, []string{
			`16:3: script[0].silence: no node is all of that`}},
		{"a name twice", `
- at: 1m
  silence: {names: [a-1, a-2, a-1]}`, []string{
			`16:31: script[0].silence.names[2]: a-1 is in the list already, as script[0].silence.names[0]`}},
		{"no names", `
- at: 1m
  silence: {names: []}`, []string{
			`16:20: script[0].silence.names: an empty list is the same as leaving it out, which means nodes of any name; ` +
				`leave it out or give it another value`}},
		{"nothing said", `
- at: 1m
  silence: {}`, []string{
			`16:3: script[0].silence: says no nodes; give it zone, rack, pool, names, count or share, or all: true`}},
		{"nothing there", `
- at: 1m
  silence:`, []string{
			`16:11: script[0].silence: has no value; give it one or leave it out`}},
		{"all, and yet not", `
- at: 1m
  silence: {all: true, zone: a}`, []string{
			`16:3: script[0].silence: has all and what restricts it; leave out all, or else names, zone, rack and pool`}},
		{"more than there are", `
- at: 1m
  silence: {zone: a, rack: 1, count: 6}`, []string{
			`16:38: script[0].silence.count: is 6, but only 5 nodes are described`}},
		{"count and share", `
- at: 1m
  silence: {zone: a, share: 0.5, count: 3}`, []string{
			`16:3: script[0].silence: has count and share; leave out one of them`}},
		{"impossible shares and counts", `
- at: 1m
  silence: {zone: a, share: 1.5}
- at: 1m
  silence: {zone: a, share: -0.1}
- at: 1m
  silence: {zone: a, share: .nan}
- at: 1m
  silence: {zone: a, count: -3}`, []string{
			`16:29: script[0].silence.share: is 1.5; want more than 0 and at most 1`,
			`18:29: script[1].silence.share: is -0.1; want more than 0 and at most 1`,
			`20:29: script[2].silence.share: .nan is not a number`,
			`22:29: script[3].silence.count: is -3; want at least 1`}},
		{"none, which is all", `
- at: 1m
  silence: {zone: a, count: 0}
- at: 1m
  silence: {zone: a, share: 0}`, []string{
			`16:29: script[0].silence.count: 0 is the same as leaving it out, which means all that are described; leave it ` +
				`out or give it another value`,
			`18:29: script[1].silence.share: 0 is the same as leaving it out, which means all that are described; leave it ` +
				`out or give it another value`}},
		{"a field misspelt is not missed as well", `
- at: 1m
  silence: {zoen: a}`, []string{
			`16:13: script[0].silence.zoen: there is no field zoen; did you mean zone?`}},
		{"inside other faults", `
- at: 1m
  for: 1m
  flap: {nodes: {zone: d}, down: 1m, up: 1m}
- at: 1m
  move: {nodes: {zone: d}, zone: a}
- at: 1m
  taint: {nodes: {zone: d}, key: x, effect: NoExecute}
- at: 1m
  nodeClocks: {nodes: {zone: d}, by: 1m}`, []string{
			`17:24: script[0].flap.nodes.zone: there is no zone d; zones are a, b, east`,
			`19:24: script[1].move.nodes.zone: there is no zone d; zones are a, b, east`,
			`21:25: script[2].taint.nodes.zone: there is no zone d; zones are a, b, east`,
			`23:30: script[3].nodeClocks.nodes.zone: there is no zone d; zones are a, b, east`}},
	} {
		c.run(t)
	}
}

func TestTypesAreWhatTheyLookLike(t *testing.T) {
	for _, c := range []badStep{
		{"quotes", `
- at: 1m
  silence: {all: "true", count: "5", share: "0.5", zone: 5, rack: 1.5}`, []string{
			`16:18: script[0].silence.all: want true or false, not "true" in quotes`,
			`16:33: script[0].silence.count: want a whole number, not "5" in quotes`,
			`16:45: script[0].silence.share: want a number, not "0.5" in quotes`,
			`16:58: script[0].silence.zone: want a string; write "5", in quotes`,
			`16:67: script[0].silence.rack: want a whole number, not 1.5`}},
		{"words and other bases", `
- at: 1m
  silence: {all: yes, count: 0x10, rack: 99999999999999999999, share: half, names: a-1}`, []string{
			`16:18: script[0].silence.all: want true or false, not yes`,
			`16:30: script[0].silence.count: 0x10 is not a whole number`,
			`16:42: script[0].silence.rack: want a whole number, not 99999999999999999999`,
			`16:71: script[0].silence.share: want a number, not half`,
			`16:84: script[0].silence.names: want a list, not a-1`}},
		{"durations", `
- at: 30
  for: five minutes
  silence: {all: true}
- at: 1.5
  for: "30"
  silence: {all: [yes]}`, []string{
			`15:7: script[0].at: 30 has no unit; write 30s if it is in seconds`,
			`16:8: script[0].for: "five minutes" is no duration; write it like 90s, 5m or 1h30m`,
			`18:7: script[1].at: 1.5 has no unit; write 1.5s if it is in seconds`,
			`19:8: script[1].for: 30 has no unit; write 30s if it is in seconds`,
			`20:18: script[1].silence.all: want a single value, not a list`}},
		{"anchors, aliases and tags", `
- at: &when 1m
  silence: {zone: !zone a}
- at: *when
  silence: !nodes {zone: a}`, []string{
			`15:7: script[0].at: anchors and aliases are not part of the language; write it out`,
			`16:19: script[0].silence.zone: tags are not part of the language; leave out !zone`,
			`17:7: script[1].at: anchors and aliases are not part of the language; write it out`,
			`18:12: script[1].silence: tags are not part of the language; leave out !nodes`}},
		{"names of fields that are none", `
- at: 1m
  silence: {zone: a, [x]: b, <<: c}`, []string{
			`16:22: script[0].silence: want the name of a field before the colon, not a list`,
			`16:30: script[0].silence.<<: there is no field "<<"; fields are all, names, zone, rack, pool, count, share`}},
	} {
		c.run(t)
	}
}
