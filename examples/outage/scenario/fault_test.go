package scenario_test

import "testing"

func TestFaultsAreThemselvesPossible(t *testing.T) {
	for _, c := range []badStep{
		{"flap", `
- at: 1m
  over: 1m
  flap: {nodes: {zone: a}, down: 0s, up: -1m}`, []string{
			`16:9: script[0].over: nodes that flap begin and end each at a time of its own; leave out over`,
			`17:3: script[0].flap: needs for, which says until when`,
			`17:34: script[0].flap.down: is 0s; want at least 100ms`,
			`17:42: script[0].flap.up: is -1m; want at least 100ms`}},
		{"flapReady", `
- at: 1m
  flapReady: {nodes: {zone: c}, notReady: 0s, ready: 3s}`, []string{
			`16:3: script[0].flapReady: needs for, which says until when`,
			`16:29: script[0].flapReady.nodes.zone: there is no zone c; zones are a, b, east`,
			`16:43: script[0].flapReady.notReady: is 0s; want at least 100ms`}},
		{"hostile", `
- at: 1m
  for: 1m
  hostile: {nodes: {zone: a}, every: 0s}
- at: 1m
  for: 1m
  hostile: {nodes: {zone: a}, every: 3s, zones: [x, X], taints: off, leases: futur}`, []string{
			`17:3: script[0].hostile: does nothing; give it zones, taints or leases`,
			`17:38: script[0].hostile.every: is 0s; want at least 100ms`,
			`20:53: script[1].hostile.zones[1]: X is no DNS label: at most 63 lower-case letters, digits and dashes, no dash ` +
				`first or last`,
			`20:65: script[1].hostile.taints: there is no way off; ways are takeOff, putOn`,
			`20:78: script[1].hostile.leases: there is no way futur; did you mean future?`}},
		{"clockDrift", `
- at: 1m
  clockDrift: {nodes: {zone: a}, by: 0s, every: 1s}
- at: 1m
  for: 10m
  clockDrift: {nodes: {zone: a}, by: 8760h, every: 1s}`, []string{
			`16:3: script[0].clockDrift: needs for, which says until when`,
			`16:38: script[0].clockDrift.by: is 0s; say by how much the clock steps, as in 5m or -5m`,
			`19:38: script[1].clockDrift.by: is 8760h, 600 times; at most 876000h together`}},
		{"apiBlink", `
- at: 1m
  apiBlink: {down: 5s, up: 0s, for: me}`, []string{
			`16:3: script[0].apiBlink: needs for, which says until when`,
			`16:28: script[0].apiBlink.up: is 0s; want at least 100ms`,
			`16:37: script[0].apiBlink.for: there is no caller me; callers are all, controllers, kubelets`}},
		{"slowLists", `
- at: 0s
  slowLists: {min: 2m, max: 1m}`, []string{
			`16:3: script[0].slowLists: min is 2m and max is 1m; the lesser comes first`}},
		{"flap without its fields", `
- at: 1m
  for: 1m
  flap: {nodes: {zone: a}}`, []string{
			`17:3: script[0].flap.down: is missing`,
			`17:3: script[0].flap.up: is missing`}},
		{"move", `
- at: 1m
  move: {nodes: {zone: a}, zone: ""}
- at: 1m
  move: {nodes: {zone: a}, zone: a}
- at: 1m
  move: {nodes: {zone: a}, zone: A b}`, []string{
			`16:34: script[0].move.zone: is empty; give it a name`,
			`18:34: script[1].move.zone: the nodes are in zone a already`,
			`20:34: script[2].move.zone: "A b" is no DNS label: at most 63 lower-case letters, digits and dashes, no dash ` +
				`first or last`}},
		{"taint", `
- at: 1m
  taint: {nodes: {zone: a}, key: "a b", value: "ä", effect: NoExec, timeAdded: yesterday}
- at: 1m
  taint: {nodes: {zone: a}, key: x, effect: Never, timeAdded: -876001h}`, []string{
			`16:34: script[0].taint.key: "a b" is no key of a taint; write it like maintenance or example.com/maintenance`,
			`16:48: script[0].taint.value: "ä" is no value of a taint: at most 63 letters, digits, dashes, underscores and dots`,
			`16:61: script[0].taint.effect: there is no effect NoExec; did you mean NoExecute?`,
			`16:80: script[0].taint.timeAdded: yesterday is neither now nor missing nor a duration like -1h`,
			`18:45: script[1].taint.effect: there is no effect Never; effects are NoSchedule, PreferNoSchedule, NoExecute`,
			`18:63: script[1].taint.timeAdded: is -876001h; at most 876000h, forwards or back`}},
		{"clocks", `
- at: 1m
  nodeClocks: {nodes: {zone: a}, by: 0s}
- at: 1m
  controllerClock: {by: 876001h, replica: 7}`, []string{
			`16:38: script[0].nodeClocks.by: is 0s; say by how much the clock steps, as in 5m or -5m`,
			`18:25: script[1].controllerClock.by: is 876001h; at most 876000h, forwards or back`,
			`18:43: script[1].controllerClock.replica: there is no replica 7; controller.replicas is 2, counted from 0`}},
		{"deletePods", `
- at: 1m
  deletePods: {workload: wbe, count: 100}
- at: 1m
  deletePods: {workload: web, count: 51}
- at: 1m
  deletePods: {workload: agent, count: 41}
- at: 1m
  deletePods: {workload: web, count: 1, share: 1}
- at: 1m
  deletePods: {workload: web, share: 0}
- at: 1m
  deletePods: {}`, []string{
			`16:26: script[0].deletePods.workload: there is no workload wbe; did you mean web?`,
			`18:38: script[1].deletePods.count: is 51, but workload web has 50 pods`,
			`20:40: script[2].deletePods.count: is 41, but workload agent has 40 pods`,
			`22:3: script[3].deletePods: has count and share; leave out one of them`,
			`24:38: script[4].deletePods.share: 0 is the same as leaving it out, which means all pods of the workload; leave ` +
				`it out or give it another value`,
			`26:3: script[5].deletePods.workload: is missing`}},
		{"tolerate", `
- at: 1m
  tolerate: {pods: {workload: agent}, seconds: 4}
- at: 1m
  tolerate: {pods: {workload: sys}, seconds: 4}
- at: 1m
  tolerate: {pods: {workload: web}, seconds: -4}`, []string{
			`16:31: script[0].tolerate.pods.workload: the pods of agent tolerate for ever, which cannot be changed`,
			`18:31: script[1].tolerate.pods.workload: the pods of sys tolerate for ever, which cannot be changed`,
			`20:46: script[2].tolerate.seconds: is -4; 0 is at once`}},
		{"rollOut", `
- at: 1m
  rollOut: {workload: web}
- at: 1m
  for: 2m
  rollOut: {workload: agent, maxUnavailable: -1}`, []string{
			`16:3: script[0].rollOut: nothing rolls a DaemonSet out without daemonSets: controller`,
			`16:23: script[0].rollOut.workload: is no DaemonSet`,
			`18:8: script[1].for: rollOut has no end; leave out for`,
			`19:3: script[1].rollOut: nothing rolls a DaemonSet out without daemonSets: controller`,
			`19:46: script[1].rollOut.maxUnavailable: is -1; want at least 1`}},
		{"apiDown", `
- at: 1m
  apiDown: {for: kubelet}
- at: 1m
  apiDown: {for: me}`, []string{
			`16:18: script[0].apiDown.for: there is no caller kubelet; did you mean kubelets?`,
			`18:18: script[1].apiDown.for: there is no caller me; callers are all, controllers, kubelets`}},
		{"apiErrors", `
- at: 1m
  apiErrors: {share: 0, codes: [418, 500, 500]}
- at: 1m
  apiErrors: {share: 2, codes: []}`, []string{
			`16:22: script[0].apiErrors.share: is 0; want more than 0 and at most 1`,
			`16:33: script[0].apiErrors.codes[0]: there is no code 418; codes are 403, 404, 409, 422, 429, 500, ` +
				`503, 504`,
			`16:43: script[0].apiErrors.codes[2]: 500 is in the list already, as script[0].apiErrors.codes[1]`,
			`18:22: script[1].apiErrors.share: is 2; want more than 0 and at most 1`,
			`18:32: script[1].apiErrors.codes: an empty list is the same as leaving it out, which means 409, 429, 500 and ` +
				`503; leave it out or give it another value`}},
		{"apiLatency", `
- at: 1m
  apiLatency: 5ms
- at: 1m
  apiLatency: {min: 2s, max: 1s}
- at: 1m
  apiLatency: {min: -2s, max: 1s}`, []string{
			`16:15: script[0].apiLatency: want fields (min, max), not 5ms`,
			`18:3: script[1].apiLatency: min is 2s and max is 1s; the lesser comes first`,
			`20:21: script[2].apiLatency.min: is -2s; time does not run backwards`}},
		{"lostAnswers", `
- at: 1m
  lostAnswers: {share: 1.1}`, []string{
			`16:24: script[0].lostAnswers.share: is 1.1; want more than 0 and at most 1`}},
		{"staleWatch", `
- at: 1m
  staleWatch: {delay: {min: 5s, max: 1s}}
- at: 1m
  staleWatch: {delay: {min: 0s, max: 0s}, kinds: [node]}`, []string{
			`16:16: script[0].staleWatch.delay: min is 5s and max is 1s; the lesser comes first`,
			`18:38: script[1].staleWatch.delay.max: is 0s; a watch without delay is not stale`,
			`18:51: script[1].staleWatch.kinds[0]: there is no kind node; did you mean nodes?`}},
		{"brokenWatch", `
- at: 1m
  brokenWatch: {replica: -1, kinds: [secrets, pods, pods]}
- at: 1m
  brokenWatch: {kinds: []}`, []string{
			`16:26: script[0].brokenWatch.replica: is -1; replicas are counted from 0`,
			`16:38: script[0].brokenWatch.kinds[0]: there is no kind secrets; kinds are nodes, leases, pods`,
			`16:53: script[0].brokenWatch.kinds[2]: pods is in the list already, as script[0].brokenWatch.kinds[1]`,
			`18:24: script[1].brokenWatch.kinds: an empty list is the same as leaving it out, which means all kinds; leave it ` +
				`out or give it another value`}},
		{"crash and pause", `
- at: 1m
  crash: {replica: 2}
- at: 1m
  pause: {replica: -1}
- at: 1m
  crash:`, []string{
			`16:20: script[0].crash.replica: there is no replica 2; controller.replicas is 2, counted from 0`,
			`18:20: script[1].pause.replica: is -1; replicas are counted from 0`,
			`20:9: script[2].crash: has no value; for the default write crash: {}`}},
		{"splitBrain", `
- at: 1m
  splitBrain: {now: true}
- at: 1m
  splitBrain: yes`, []string{
			`16:16: script[0].splitBrain.now: there are no fields here; write {}`,
			`18:15: script[1].splitBrain: want {}, not yes`}},
	} {
		c.run(t)
	}
}
