package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/kubelife/lifecycle/examples/daemonset/controller"
)

// mostRows bounds a page.
const mostRows = 1000

// newPage returns a page that lists the DaemonSets with their phases, counts
// and problems. With ?set=NAMESPACE/NAME it lists why nothing happens on nodes
// of one.
func newPage(state read) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var text bytes.Buffer
		table := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
		found := true
		if set := request.URL.Query().Get("set"); set != "" {
			state(func(c *controller.Controller) { found = writeWaits(table, c, set) })
		} else {
			state(func(c *controller.Controller) { writeSets(table, c) })
		}
		if err := table.Flush(); err != nil || !found {
			http.Error(w, "no such DaemonSet, want ?set=NAMESPACE/NAME", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(text.Bytes())
	})
}

func writeSets(table *tabwriter.Writer, c *controller.Controller) {
	fmt.Fprintln(table, "DAEMONSET\tPHASE\tDESIRED\tCURRENT\tREADY\tUP-TO-DATE\tAVAILABLE\tUNDER WAY\tPROBLEM")
	rows := 0
	for set := range c.Sets() {
		if rows++; rows > mostRows {
			fmt.Fprintln(table, "...")
			return
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", nameOf(set), set.Phase, set.Counts.Desired,
			set.Counts.Current, set.Counts.Ready, set.Counts.Updated, set.Counts.Available, set.UnderWay, problemOf(set))
	}
}

func writeWaits(table *tabwriter.Writer, c *controller.Controller, name string) bool {
	for set := range c.Sets() {
		if nameOf(set) != name {
			continue
		}
		fmt.Fprintf(table, "%s is %s. %s\n\nNODE\tWAITS FOR\tPOD\tUNTIL\n", name, set.Phase, problemOf(set))
		rows := 0
		for wait := range c.Waits(set.Owner.Object.GetUID()) {
			if rows++; rows > mostRows {
				fmt.Fprintln(table, "...")
				break
			}
			until := ""
			if !wait.Until.IsZero() {
				until = wait.Until.UTC().Format("15:04:05")
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", wait.Node, wait.Reason, wait.Pod, until)
		}
		return true
	}
	return false
}

func nameOf(set controller.State) string {
	return set.Owner.Object.GetNamespace() + "/" + set.Owner.Object.GetName()
}

func problemOf(set controller.State) string {
	if set.Problem == nil {
		return ""
	}
	return strings.ReplaceAll(set.Problem.Error(), "\n", "; ")
}
