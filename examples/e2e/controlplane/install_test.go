package controlplane

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tool is the program of a module that only the proxy of serveTool has.
const tool Binary = "example.test/tool/cmd/tool"

// serveTool makes a module proxy in a folder and has the go command use it. A
// version of the program prints its version.
func serveTool(t *testing.T, versions ...string) {
	t.Helper()
	proxy := t.TempDir()
	folder := filepath.Join(proxy, "example.test", "tool", "@v")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, version := range versions {
		const gomod = "module example.test/tool\n\ngo 1.26.0\n"
		writeFile(t, filepath.Join(folder, version+".info"), fmt.Sprintf(`{"Version":%q}`, version))
		writeFile(t, filepath.Join(folder, version+".mod"), gomod)
		file, err := os.Create(filepath.Join(folder, version+".zip"))
		require.NoError(t, err)
		archive := zip.NewWriter(file)
		for name, content := range map[string]string{
			"go.mod":           gomod,
			"cmd/tool/main.go": fmt.Sprintf("package main\n\nfunc main() { print(%q) }\n", version),
		} {
			entry, err := archive.Create("example.test/tool@" + version + "/" + name)
			require.NoError(t, err)
			_, err = entry.Write([]byte(content))
			require.NoError(t, err)
		}
		require.NoError(t, archive.Close())
		require.NoError(t, file.Close())
	}
	writeFile(t, filepath.Join(folder, "list"), strings.Join(versions, "\n"))
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GONOPROXY", "none")
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw") // else the folder could not be removed
}

// TestInstallBuildsAVersionOnceAndKeepsItApart: another version is another
// program.
func TestInstallBuildsAVersionOnceAndKeepsItApart(t *testing.T) {
	module := writeModule(t, "v1.37.1")
	serveTool(t, "v0.8.0", "v0.9.0")
	said := &progress{}
	config := BuildConfig{ModuleDir: module, CacheDir: t.TempDir(), Progress: said}
	for range 2 {
		for _, version := range []string{"v0.8.0", "v0.9.0"} {
			path, err := Install(t.Context(), config, tool, version)
			require.NoError(t, err)
			out, err := exec.Command(path).CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, version, string(out))
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing but the program")
		}
	}
	require.Equal(t, 2, said.count("tool: there after"))
}

func TestInstallOfAVersionThatIsNotThereFails(t *testing.T) {
	module := writeModule(t, "v1.37.1")
	serveTool(t, "v0.8.0")
	config := BuildConfig{ModuleDir: module, CacheDir: t.TempDir()}
	_, err := Install(t.Context(), config, tool, "v0.7.0")
	require.ErrorContains(t, err, "building tool")
	require.ErrorContains(t, err, "v0.7.0")
}
