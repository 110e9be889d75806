package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/page"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/process/atomicfile"
)

// writePage writes the page, if there is one, to the file of --html.
func writePage(file *atomicfile.File, p *page.Page) error {
	if p == nil {
		return nil
	}
	return file.Write(func(out io.Writer) error { return page.Write(out, p) })
}

// newPage returns the page of one run, nil if it did not begin.
func newPage(s *scenario.Scenario, document *report.Document) *page.Page {
	if document == nil {
		return nil
	}
	return &page.Page{
		Name: s.Name, Description: s.Description, Intro: introduction(s), Runs: []page.Run{{Document: document}},
	}
}

// newComparisonPage returns the page of two runs, or of those that began.
func newComparisonPage(s *scenario.Scenario, c *report.Comparison) *page.Page {
	p := newPage(s, c.Given)
	p.Runs[0].Name = asGivenName
	if c.Changed != nil {
		p.Runs = append(p.Runs, page.Run{Name: changedName, Document: c.Changed})
	}
	if c.Interrupted {
		p.Warning = nothingCompared(c)
	} else {
		p.Comparison = c
	}
	return p
}

// nothingCompared says why runs are not compared.
func nothingCompared(c *report.Comparison) string {
	if c.Changed == nil {
		return fmt.Sprintf("Nothing was compared: the run with %s did not begin.", strings.Join(c.Settings, ", "))
	}
	return fmt.Sprintf("Nothing was compared: the run with %s was interrupted.", strings.Join(c.Settings, ", "))
}
