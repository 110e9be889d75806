package hollow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const (
	kwokName = "kwok"
	// It is not required by go.mod, which would get its requirements.
	kwokModule  = "sigs.k8s.io/kwok"
	kwokVersion = "v0.8.0"

	kwokProgram controlplane.Binary = kwokModule + "/cmd/kwok"
)

// kwokStages say what kwok writes: files of its own repository. They are the
// fast ones of pods and nodes, and the report of a node each 10 minutes.
func kwokStages() []string {
	return []string{
		"kustomize/stage/pod/fast/pod-ready.yaml",
		"kustomize/stage/pod/fast/pod-complete.yaml",
		"kustomize/stage/pod/fast/pod-delete.yaml",
		"kustomize/stage/node/fast/node-initialize.yaml",
		"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	}
}

func kwok() sidebyside.Subject {
	return sidebyside.Subject{
		Name: kwokName, Title: "kwok " + kwokVersion,
		Args: []string{"--manage-all-nodes", "--node-lease-duration-seconds=40"},
		Build: func(ctx context.Context, dir string, progress io.Writer) (p sidebyside.Program, err error) {
			config := controlplane.BuildConfig{Progress: progress}
			if p.Path, err = controlplane.Install(ctx, config, kwokProgram, kwokVersion); err != nil {
				return p, err
			}
			source, err := moduleSource(ctx, dir, kwokModule+"@"+kwokVersion)
			for _, stage := range kwokStages() {
				p.Args = append(p.Args, "--config="+filepath.Join(source, filepath.FromSlash(stage)))
			}
			return p, err
		},
	}
}

// moduleSource returns the folder of a module in Go's cache.
func moduleSource(ctx context.Context, dir, module string) (string, error) {
	// The folder is outside of this module, whose go.mod must not change.
	out, err := controlplane.Go(ctx, dir, "mod", "download", "-json", module)
	if err != nil {
		return "", err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	return found.Dir, nil
}
