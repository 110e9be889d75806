// Package exhaustive plays small worlds in all ways in which their messages can
// interleave, within a bound. Package explore plays large random ones.
//
//	go -C examples test ./outage/exhaustive -v
//	go -C examples test ./outage/exhaustive -v -timeout 2h -run EverySchedule \
//	  -args -deviations 2
//	go -C examples test ./outage/exhaustive -v -timeout 2h -run EverySchedule \
//	  -args -deviations 3 -kinds crash,lost,late \
//	  -world "an administrator drains a node" -from 60s -to 70s
//
// A world has two nodes and two pods, and something happens to it. Messages are
// the calls of the controller, their answers and the events of its watches. In
// the undisturbed run each takes its usual time. A [Schedule] says what
// differs. A message is overtaken by others, an event comes late, an answer is
// lost, the controller crashes. [World.Explore] runs every schedule that has at
// most so many deviations. It replays: runs with the same deviations so far
// have sent the same messages.
//
// The bound is that of delay-bounded scheduling (Emmi, Qadeer, Rakamarić: POPL
// 2011): so many deviations, of any kinds, several of one kind among them. A
// fault that such deviations show is found, with the fewest that it needs. The
// third command plays all that three crashes, lost answers and late events can
// do in the ten seconds in which pods are evicted.
//
// # What is wanted
//
// All invariants hold, as in random worlds. And the world is what it should be
// in the end and stays so: eventually stable reconciliation (Anvil, Sun et al.:
// OSDI 2024). Each world has a goal. Where its faults end, all nodes are ready,
// without a taint, and each workload has its pods. Where a fault lasts for
// good, the nodes have the taints that it asks for, and their pods have left.
// They run elsewhere, except one whose name is taken. Where all nodes are dead
// for good, their pods stay. Only where a fault lasts does work that is not
// done come to light: what has healed is right without it. From three minutes
// after the last message that may deviate, the controller writes nothing for
// four minutes.
//
// # What is left out
//
// Crashes are at the moments in which a message is sent, also in the midst of a
// turn that sends several. One between two of them is the same as one at the
// first: a process changes nothing outside without a message. Messages deviate
// from the first fault until half a minute after the last has ended. Where one
// lasts for good, that is for 75 s. How much later a message comes has two
// values. Only events have the longer one, and only answers are lost: no call,
// and not the answer to the list with which a watch begins. Runs that reach the
// same state are not merged.
package exhaustive
