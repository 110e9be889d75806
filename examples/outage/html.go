package main

import (
	"io"

	"github.com/kubelife/lifecycle/examples/htmlpage"
	"github.com/kubelife/lifecycle/examples/outage/page"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// writePage writes the page, if there is one, to the file of --html.
func writePage(file *htmlpage.File, p *page.Page) error {
	if p == nil {
		return nil
	}
	return file.Write(func(out io.Writer) error { return page.Write(out, p) })
}

// newPage returns the page of one run or of two, nil if there is none. A run
// that did not begin is nil.
func newPage(s *scenario.Scenario, comparison *report.Comparison, documents ...*report.Document) *page.Page {
	p := &page.Page{Name: s.Name, Description: s.Description, Intro: introduction(s), Comparison: comparison}
	for i, document := range documents {
		if document != nil {
			p.Runs = append(p.Runs, page.Run{Name: []string{asGivenName, changedName}[i], Document: document})
		}
	}
	switch len(p.Runs) {
	case 0:
		return nil
	case 1:
		p.Runs[0].Name = ""
	}
	return p
}
