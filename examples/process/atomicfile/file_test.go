package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/atomicfile"
)

// A file of before stays until there is another, and nothing else is left.
func TestAFileGetsItsNameOnceItIsComplete(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "written")
	require.NoError(t, os.WriteFile(name, []byte("of before"), 0o600))
	want := func(content string) {
		t.Helper()
		is, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, content, string(is))
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}
	file, err := atomicfile.NewFile("--html", name)
	require.NoError(t, err)
	want("of before")
	broken := errors.New("broken")
	err = file.Write(func(out io.Writer) error {
		_, err := io.WriteString(out, "half")
		return errors.Join(err, broken)
	})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "--html "+name+": ")
	want("of before")

	file, err = atomicfile.NewFile("--html", name)
	require.NoError(t, err)
	require.NoError(t, file.Write(func(out io.Writer) error { _, err := io.WriteString(out, "new"); return err }))
	want("new")

	_, err = atomicfile.NewFile("--html", folder)
	require.EqualError(t, err, "--html "+folder+": it is not a file")
	_, err = atomicfile.NewFile("--html", filepath.Join(folder, "none", "x"))
	require.ErrorIs(t, err, os.ErrNotExist)
	file, err = atomicfile.NewFile("--html", "")
	require.NoError(t, err)
	require.NoError(t, file.Write(nil), "nothing is to be written")
}
