package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubelife/lifecycle/examples/outage/page"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// pageFile is the file of --html. It gets its name once it is complete, so that
// a page of before is not lost to a run that fails. Nil writes nothing.
type pageFile struct {
	name string
	file *os.File // nil once it has its name
}

// newPageFile finds out before a long run whether there can be such a file.
// Without a name it returns nil.
func newPageFile(name string) (*pageFile, error) {
	if name == "" {
		return nil, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("--html %s: it is not a file", name)
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".outage-*.html")
	if err != nil {
		return nil, fmt.Errorf("--html %s: %w", name, err)
	}
	return &pageFile{name: name, file: file}, nil
}

// write writes the page, if there is one, and gives the file its name.
func (f *pageFile) write(p *page.Page) error {
	if f == nil || p == nil {
		return nil
	}
	err := page.Write(f.file, p)
	err = errors.Join(err, f.file.Chmod(0o644), f.file.Close())
	if err == nil {
		err = os.Rename(f.file.Name(), f.name)
	}
	if err != nil {
		return fmt.Errorf("--html %s: %w", f.name, err)
	}
	f.file = nil
	return nil
}

// discard removes what was not completed.
func (f *pageFile) discard() {
	if f == nil || f.file == nil {
		return
	}
	_ = f.file.Close() // write may have closed it
	_ = os.Remove(f.file.Name())
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
