package scenario_test

import (
	"fmt"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

const rackLoss = `name: rack-loss
duration: 30m
cluster:
  zones:
  - {name: a, nodes: 60, racks: 6}
script:
- at: 5m
  for: 10m
  silence: {zone: a, rack: 2}
`

func ExampleRead() {
	s, err := scenario.Read("rack-loss.yaml", []byte(rackLoss))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Name, "takes", s.Duration)
	fmt.Println("at", s.Script[0].At, "rack", *s.Script[0].Silence.Rack, "falls silent")
	// Output:
	// rack-loss takes 30m
	// at 5m rack 2 falls silent
}

func ExampleRead_mistakes() {
	_, err := scenario.Read("rack-loss.yaml", []byte(`name: rack-loss
duration: 30
cluster:
  zones:
  - {name: a, nodes: 60, racks: 6}
controller:
  flags: {node-evicton-rate: 1}
script:
- at: 5m
  silence: {zone: b}
`))
	fmt.Println(err)
	// Output:
	// rack-loss.yaml:2:11: duration: 30 has no unit; write 30s if it is in seconds
	// rack-loss.yaml:7:30: controller.flags.node-evicton-rate: there is no flag node-evicton-rate; did you mean node-eviction-rate?
	// rack-loss.yaml:10:19: script[0].silence.zone: there is no zone b; zones are a
}

func ExampleWrite() {
	s, err := scenario.Read("rack-loss.yaml", []byte(rackLoss))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, assignment := range []string{"cluster.zones[0].nodes=90", "node-eviction-rate=0.5"} {
		if err := scenario.Set(s, assignment); err != nil {
			fmt.Println(err)
		}
	}
	text, err := scenario.Write(s)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(string(text))
	// Output:
	// name: rack-loss
	// duration: 30m
	// cluster:
	//   zones:
	//   - {name: a, nodes: 90, racks: 6}
	// controller:
	//   flags: {node-eviction-rate: 0.5}
	// script:
	// - at: 5m
	//   for: 10m
	//   silence: {zone: a, rack: 2}
}
