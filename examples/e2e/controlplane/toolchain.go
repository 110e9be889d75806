package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// toolchain is the go command in this module's folder, and what it would build
// with.
type toolchain struct {
	moduleDir  string            // the folder of this module, where go build must run
	pins       []string          // what go.mod says about versions, sorted
	kubernetes string            // the version of k8s.io/kubernetes, such as v1.37.1
	settings   map[string]string // the go command's settings that decide what is built
}

// Settings that change a binary without changing go.mod. CC and the like are
// left out: they matter to the few cgo files of the standard library only.
var goSettings = []string{"GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "CGO_ENABLED", "GOEXPERIMENT", "GOFLAGS"}

// findToolchain asks the go command. dir is any folder of this module; empty
// means the working directory, which for a test is the folder of its package.
func findToolchain(ctx context.Context, dir string) (*toolchain, error) {
	settings, err := readSettings(ctx, dir)
	if err != nil {
		return nil, err
	}
	module := settings["GOMOD"]
	delete(settings, "GOMOD") // the same module elsewhere builds the same
	g := &toolchain{moduleDir: filepath.Dir(module), settings: settings}
	if err := g.readModule(ctx, module); err != nil {
		return nil, err
	}
	if g.kubernetes == "" {
		return nil, fmt.Errorf("the module at %q does not pin k8s.io/kubernetes; run inside examples/e2e or set "+
			"BuildConfig.ModuleDir", module)
	}
	return g, nil
}

// readSettings returns goSettings and GOMOD.
func readSettings(ctx context.Context, dir string) (map[string]string, error) {
	out, err := goCommand(ctx, dir, append([]string{"env", "-json", "GOMOD"}, goSettings...)...)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	if err := json.Unmarshal(out, &settings); err != nil {
		return nil, fmt.Errorf("reading the output of go env: %w", err)
	}
	return settings, nil
}

// moduleVersion is a module as go mod edit -json prints it. In a replacement by
// a folder Path is the folder, and there is no Version.
type moduleVersion struct{ Path, Version string }

// readModule takes the statements of a go.mod that decide what is built with
// it. Comments, tools and whether a requirement is indirect are not among them:
// tests that are added to this module change those all the time.
func (g *toolchain) readModule(ctx context.Context, path string) error {
	out, err := goCommand(ctx, "", "mod", "edit", "-json", path)
	if err != nil {
		return err
	}
	var file struct {
		Go      string
		GoDebug []struct{ Key, Value string }
		Require []moduleVersion
		Exclude []moduleVersion
		Replace []struct{ Old, New moduleVersion }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return fmt.Errorf("reading the output of go mod edit: %w", err)
	}
	g.pins = []string{"go " + file.Go}
	for _, setting := range file.GoDebug {
		g.pins = append(g.pins, "godebug "+setting.Key+"="+setting.Value)
	}
	inFolder := map[string]bool{}
	for _, r := range file.Replace {
		g.pins = append(g.pins, fmt.Sprintf("replace %v => %v", r.Old, r.New))
		inFolder[r.Old.Path] = r.New.Version == ""
	}
	for _, required := range file.Require {
		if required.Path == "k8s.io/kubernetes" {
			g.kubernetes = required.Version
		}
		if !inFolder[required.Path] { // else the version means nothing
			g.pins = append(g.pins, fmt.Sprintf("require %v", required))
		}
	}
	for _, excluded := range file.Exclude {
		g.pins = append(g.pins, fmt.Sprintf("exclude %v", excluded))
	}
	slices.Sort(g.pins)
	return nil
}

// ldflags stamps the version into the binaries, as Kubernetes' own build does.
// Without it the API server calls itself v0.0.0, and clients of it go by that.
func (g *toolchain) ldflags() string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(g.kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s -w"} // without the debugger's tables: a third of the size
	// The first package is what a program reports, the second what it sends as
	// user agent.
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			"-X "+pkg+".gitVersion="+g.kubernetes,
			"-X "+pkg+".gitMajor="+major,
			"-X "+pkg+".gitMinor="+minor)
	}
	return strings.Join(flags, " ")
}

// key names what the toolchain would build: equal keys, equal binaries. It
// starts with the version, for the person that looks into the cache. All
// versions of go.mod count, and not only those that a binary links, which take
// the go command seconds to find out. So an unrelated new requirement builds
// again; that only links, as the compiled packages are in Go's own cache.
func (g *toolchain) key() string {
	return cacheKey(g.kubernetes, append(slices.Clone(g.pins), g.ldflags()), g.settings)
}

// cacheKey names a folder by a version and by what else decides what is built.
func cacheKey(version string, fields []string, settings map[string]string) string {
	hash := sha256.New()
	write := func(field string) { fmt.Fprintf(hash, "%d:%s\n", len(field), field) }
	for _, field := range fields {
		write(field)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		write(name)
		write(settings[name])
	}
	return fmt.Sprintf("%s-%x", version, hash.Sum(nil)[:6])
}

// goCommand runs the go command in dir and returns its output.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, goEnvironment()
	return output(cmd)
}

// output runs a go command and returns its output, or an error with what it
// complained about.
func output(cmd *exec.Cmd) ([]byte, error) {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", cmd.Args[1], err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}

// goEnvironment keeps a workspace of the developer's out: it would choose other
// versions.
func goEnvironment() []string {
	return append(os.Environ(), "GOWORK=off")
}
