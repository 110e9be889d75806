// Package demonstration is what the demonstrations of the programs have in
// common. Each runs its whole controller on a cluster in memory, shows what
// happens, and judges it in the end.
//
//	err := demonstration.SetDefaults(flags, map[string]string{...})
//	screen := demonstration.NewScreen(out)
//	screen.Say("three nodes join")
//	screen.Draw(picture)
//	...
//	return demonstration.PrintClaims(out, claims)
//
// A [Screen] redraws a picture in place on a terminal, and writes plain lines
// elsewhere. A summary is [Claims]. It holds if no claim has an exception,
// else the program ends with exit code 1. No line is wider than [Columns].
package demonstration
