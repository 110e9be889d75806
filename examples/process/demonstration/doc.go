// Package demonstration is what the demonstrations of the programs have in
// common. Each plays a script on a cluster with its program in it, shows what
// happens, and judges it in the end.
//
//	err := demonstration.SetDefaults(flags, map[string]string{...})
//	...
//	play := &demonstration.Play[*state]{
//		Cluster: world, Look: look, Glance: time.Second, Lines: lines,
//		Steps: steps, Summarize: summarize,
//	}
//	return play.Demonstrate(ctx, out)
//
// The program is the one that runs on a real cluster. A [World] in virtual time
// passes at a [Pace] no faster than the clock, so each run shows the same, however
// busy the machine is. A test lets it pass [AtOnce].
//
// A [Screen] redraws in place on a terminal, and writes plain lines elsewhere. A
// summary is [Claims], with the [Findings] of a judge as exceptions. It holds if
// no claim has an exception, else the program ends with exit code 1. No line is
// wider than [Columns].
package demonstration
