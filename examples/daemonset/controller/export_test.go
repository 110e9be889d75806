package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ShortenTurns has each turn visit so few records that even a small world needs
// several turns. A set and one of its nodes are two.
func (c *Controller) ShortenTurns(visits int) { c.visitsOfTurn, c.stepsOfTurn = visits, visits }

// Carriers returns how many pods a plan for the history of a set visits.
func (c *Controller) Carriers(uid types.UID) int {
	visited := 0
	for range c.carriers(c.sets[uid]) {
		visited++
	}
	return visited
}

// IndexAgrees reports whether the objects by hash are those of all objects that
// carry it.
func (c *Controller) IndexAgrees() bool {
	for _, l := range c.pods.groups {
		if !agrees(l) {
			return false
		}
	}
	for _, l := range c.revisions.groups {
		if !agrees(l) {
			return false
		}
	}
	return true
}

func agrees[T metav1.Object](l *list[T]) bool {
	alike := map[string]int{}
	for at, object := range l.objects {
		hash := carriedBy(object)
		alike[hash]++
		of := l.places[object.GetName()]
		if of.all != at || of.alike >= len(l.carriers[hash]) ||
			l.carriers[hash][of.alike].GetName() != object.GetName() ||
			l.carriers[hash][of.alike].GetResourceVersion() != object.GetResourceVersion() {
			return false
		}
	}
	for hash, objects := range l.carriers {
		if len(objects) != alike[hash] {
			return false
		}
	}
	return len(l.places) == len(l.objects) && len(l.carriers) == len(alike)
}
