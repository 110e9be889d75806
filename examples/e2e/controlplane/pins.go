package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// moduleVersion is a module as go mod edit -json prints it. In a replacement by
// a folder Path is the folder, and there is no Version.
type moduleVersion struct{ Path, Version string }

// moduleFile is what a go.mod says about the versions of a build.
type moduleFile struct {
	Go      string
	GoDebug []struct{ Key, Value string }
	Require []moduleVersion
	Exclude []moduleVersion
	Replace []struct{ Old, New moduleVersion }
}

// readPins returns the statements of a go.mod that decide what is built with
// it, sorted. Comments, tools and whether a requirement is indirect are not
// among them: tests that are added to this module change those all the time.
func readPins(ctx context.Context, path string) ([]string, error) {
	out, err := goCommand(ctx, "", "mod", "edit", "-json", path)
	if err != nil {
		return nil, err
	}
	var file moduleFile
	if err := json.Unmarshal(out, &file); err != nil {
		return nil, fmt.Errorf("reading the output of go mod edit: %w", err)
	}
	return file.pins(), nil
}

func (f moduleFile) pins() []string {
	pins := []string{"go " + f.Go}
	for _, setting := range f.GoDebug {
		pins = append(pins, "godebug "+setting.Key+"="+setting.Value)
	}
	inFolder := map[string]bool{}
	for _, r := range f.Replace {
		pins = append(pins, fmt.Sprintf("replace %v => %v", r.Old, r.New))
		inFolder[r.Old.Path] = r.New.Version == ""
	}
	for _, required := range f.Require {
		if !inFolder[required.Path] { // else the version means nothing
			pins = append(pins, fmt.Sprintf("require %v", required))
		}
	}
	for _, excluded := range f.Exclude {
		pins = append(pins, fmt.Sprintf("exclude %v", excluded))
	}
	slices.Sort(pins)
	return pins
}
