package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// build builds both programs into dir and returns their paths. One of ours that
// is there already is taken as it is.
func build(ctx context.Context, dir, program string) (paths [subjects]string, err error) {
	paths[ours] = program
	if program == "" {
		if paths[ours], err = sidebyside.BuildOurs(ctx, dir, "nodelifecycle"); err != nil {
			return paths, err
		}
	}
	const baselinePackage = "github.com/kubelife/lifecycle/examples/e2e/rest/baseline"
	paths[baseline] = filepath.Join(dir, "baseline")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", paths[baseline], baselinePackage).CombinedOutput()
	if err != nil {
		return paths, fmt.Errorf("build the baseline: %w\n%s", err, out)
	}
	return paths, nil
}
