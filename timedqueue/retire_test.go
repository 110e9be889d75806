package timedqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

func TestGroupRetireOfAnEmptyQueue(t *testing.T) {
	g := newTestGroup(t, Config{Limit: 0.001})
	g.Add("z1", "a", 0, at(0))
	g.Finish(at(0), groupMustStart(t, g, at(0), "a"), Result{})
	g.Retire("z1")
	g.Retire("absent")
	requireGroupEmpty(t, g, "z1", "absent")
	g.Add("z1", "b", 0, at(0))
	groupMustStart(t, g, at(0), "b") // its rate and tokens were forgotten
}

func TestGroupRetireWithKeysWaitsForTheLast(t *testing.T) {
	for name, leave := range map[string]func(*zones, zoneItem){
		"done":    func(g *zones, item zoneItem) { g.Finish(at(0), item, Result{}) },
		"removed": func(g *zones, item zoneItem) { g.Remove("a"); g.Finish(at(0), item, Result{}) },
		"moved": func(g *zones, item zoneItem) {
			g.Move("a", "z2")
			g.Finish(at(0), item, Result{Outcome: Failed})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTestGroup(t, unlimited)
			g.Add("z1", "a", 0, at(0))
			g.Add("z1", "b", 0, at(0))
			item := groupMustStart(t, g, at(0), "a")
			g.Retire("z1")
			require.Equal(t, 2, g.LenOf("z1"), "nothing is lost")
			groupMustStart(t, g, at(0), "b")
			g.Remove("b")
			require.Contains(t, g.lanes, "z1", "two actions are under way")
			leave(g, item)
			require.Contains(t, g.lanes, "z1", "one still is")
			g.Finish(at(0), zoneItem{Key: "b"}, Result{})
			require.Contains(t, g.lanes, "z1", "a foreign Finish ends nothing")
		})
	}
}

func TestGroupRetiredQueueGoesWithItsLastKey(t *testing.T) {
	for name, leave := range map[string]func(*zones){
		"done":    func(g *zones) { item, _ := g.Start(at(0)); g.Finish(at(0), item, Result{}) },
		"removed": func(g *zones) { g.Remove("a") },
		"moved":   func(g *zones) { g.Move("a", "z2") },
		"moved during its action": func(g *zones) {
			item, _ := g.Start(at(0))
			g.Move("a", "z2")
			g.Finish(at(0), item, Result{Outcome: Failed})
		},
		"removed during its action": func(g *zones) {
			item, _ := g.Start(at(0))
			g.Remove("a")
			g.Finish(at(0), item, Result{})
		},
		"added elsewhere during its action": func(g *zones) {
			item, _ := g.Start(at(0))
			g.Remove("a")
			g.Add("z2", "a", 0, at(0))
			g.Finish(at(0), item, Result{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTestGroup(t, unlimited)
			g.Add("z1", "a", 0, at(0))
			g.Retire("z1")
			require.Contains(t, g.lanes, "z1")
			leave(g)
			require.NotContains(t, g.lanes, "z1")
			g.Remove("a")
			g.Retire("z2")
			requireGroupEmpty(t, g, "z1", "z2")
		})
	}
}

// Each way of naming a queue after Retire keeps it, and with it its rate.
func TestGroupRetireRevived(t *testing.T) {
	for name, revive := range map[string]func(*zones){
		"SetLimit": func(g *zones) { g.SetLimit(at(0), "z1", 0.25) },
		"Add":      func(g *zones) { g.Add("z1", "new", 0, at(time.Hour)); g.Remove("new") },
		"Move": func(g *zones) {
			g.Add("z2", "new", 0, at(time.Hour))
			g.Move("new", "z1")
			g.Remove("new")
		},
		"Move to where it is": func(g *zones) { g.Move("a", "z1") },
		"Add of a key that acts in it": func(g *zones) {
			g.Remove("acting")
			g.Add("z1", "acting", 0, at(0))
		},
		"Move of a key that acts elsewhere": func(g *zones) { g.Move("elsewhere", "z1"); g.Remove("elsewhere") },
		"Add of a key that acts elsewhere": func(g *zones) {
			g.Remove("elsewhere")
			g.Add("z1", "elsewhere", 0, at(0))
			g.Remove("elsewhere")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTestGroup(t, unlimited)
			g.SetLimit(at(0), "z1", 0.25)
			g.Add("z1", "acting", 0, at(0))
			acting := groupMustStart(t, g, at(0), "acting")
			g.Add("z2", "elsewhere", 0, at(0))
			elsewhere := groupMustStart(t, g, at(0), "elsewhere")
			g.Add("z1", "a", 0, at(time.Hour))
			g.Retire("z1")
			revive(g)
			g.Remove("a")
			g.Remove("acting")
			g.Finish(at(0), acting, Result{})
			g.Finish(at(0), elsewhere, Result{})
			require.Contains(t, g.lanes, "z1")
			require.Equal(t, rate.Limit(0.25), g.lanes["z1"].queue.Limit())
			g.Retire("z1")
			g.Retire("z2")
			requireGroupEmpty(t, g, "z1", "z2")
		})
	}
}

// A zone may vanish while a node that just moved there is being acted on.
func TestGroupRetireOfAQueueThatAnActingKeyMovesTo(t *testing.T) {
	for _, outcome := range []Outcome{Done, Nothing, Failed} {
		t.Run(outcome.String(), func(t *testing.T) {
			g := newTestGroup(t, unlimited)
			g.SetLimit(at(0), "z2", 0.25)
			g.Add("z1", "a", 0, at(0))
			item := groupMustStart(t, g, at(0), "a")
			g.Move("a", "z2")
			g.Retire("z2")
			require.Equal(t, 1, g.LenOf("z2"), "a key is still to come")
			g.Finish(at(0), item, Result{Outcome: outcome})
			if outcome == Failed {
				require.Equal(t, rate.Limit(0.25), g.lanes["z2"].queue.Limit())
				item = groupMustStart(t, g, at(time.Second), "a")
				g.Finish(at(time.Second), item, Result{})
			}
			g.Retire("z1")
			requireGroupEmpty(t, g, "z1", "z2")
		})
	}
}

func TestGroupRetireWhenTheMoveIsCalledOff(t *testing.T) {
	for name, callOff := range map[string]func(*zones){
		"moved on":   func(g *zones) { g.Move("a", "z3") },
		"moved back": func(g *zones) { g.Move("a", "z1") },
		"removed":    func(g *zones) { g.Remove("a") },
	} {
		t.Run(name, func(t *testing.T) {
			g := newTestGroup(t, unlimited)
			g.Add("z1", "a", 0, at(0))
			item := groupMustStart(t, g, at(0), "a")
			g.Move("a", "z2")
			g.Retire("z2")
			callOff(g)
			require.NotContains(t, g.lanes, "z2")
			g.Finish(at(0), item, Result{})
			g.Retire("z1")
			g.Retire("z3")
			requireGroupEmpty(t, g, "z1", "z2", "z3")
		})
	}
}
