// Package explore searches for faults of the hollow nodes that no written test
// covers. It draws random scenarios, each from a seed. It plays each with
// package simulation, and checks it with package invariant.
//
//	go -C examples test ./hollownode/explore -run TestRandomWorlds \
//	  -args -seeds 100000
//
// A seed that fails is printed with the steps that are needed. It is played
// again with -first and -seeds 1. The same seed is the same history each time.
//
// That it would find something is shown by package mutations: deliberate faults
// of the kubelet, every one of which the same exploration has to catch.
package explore
