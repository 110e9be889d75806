package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
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
	pins       []string          // what go.mod says about versions
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

	version, err := goCommand(ctx, dir, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return nil, fmt.Errorf("the module at %q does not pin k8s.io/kubernetes; run inside examples/e2e or set "+
			"BuildConfig.ModuleDir: %w", module, err)
	}
	pins, err := readPins(ctx, module)
	if err != nil {
		return nil, err
	}
	return &toolchain{
		moduleDir:  filepath.Dir(module),
		pins:       pins,
		kubernetes: strings.TrimSpace(string(version)),
		settings:   settings,
	}, nil
}

// readSettings returns goSettings and GOMOD.
func readSettings(ctx context.Context, dir string) (map[string]string, error) {
	out, err := goCommand(ctx, dir, "env", append([]string{"-json", "GOMOD"}, goSettings...)...)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	if err := json.Unmarshal(out, &settings); err != nil {
		return nil, fmt.Errorf("reading the output of go env: %w", err)
	}
	return settings, nil
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

// String says what the binaries are for.
func (g *toolchain) String() string { return "for Kubernetes " + g.kubernetes }

// build compiles and links one program into the file target.
func (g *toolchain) build(ctx context.Context, binary Binary, target string, compiled func(pkg string)) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-o", target, "-ldflags", g.ldflags(), string(binary))
	cmd.Dir, cmd.Env = g.moduleDir, goEnvironment()
	return runBuild(cmd, compiled)
}

// runBuild runs a go command that lists the packages that it compiles. The
// error has the end of its complaint.
func runBuild(cmd *exec.Cmd, compiled func(pkg string)) error {
	messages := &lineWriter{line: compiled}
	cmd.Stdout, cmd.Stderr = io.Discard, messages
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, strings.Join(messages.last, "\n"))
	}
	return nil
}

// goCommand runs the go command in dir and returns its output, or an error with
// what it complained about.
func goCommand(ctx context.Context, dir, verb string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{verb}, args...)...)
	cmd.Dir, cmd.Env = dir, goEnvironment()
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", verb, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}

// goEnvironment keeps a workspace of the developer's out: it would choose other
// versions.
func goEnvironment() []string {
	return append(os.Environ(), "GOWORK=off")
}

// lineWriter calls line for each line written to it, and remembers the last
// few.
type lineWriter struct {
	line    func(string)
	partial []byte
	last    []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.partial = append(w.partial, p...)
	for {
		line, rest, found := bytes.Cut(w.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.partial = rest
		w.last = append(w.last, string(line))
		if len(w.last) > 20 {
			w.last = w.last[1:]
		}
		w.line(string(line))
	}
}
