//go:build unix

package atomicfile_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/atomicfile"
)

// A file keeps its permissions, and a new one has those that the umask leaves,
// already while it is written.
func TestPermissionsAreKept(t *testing.T) {
	for _, test := range []struct{ umask, before, want os.FileMode }{
		{umask: 0o077, want: 0o600}, {umask: 0o022, want: 0o644}, {umask: 0o002, want: 0o664},
		{umask: 0o022, before: 0o600, want: 0o600}, {umask: 0o077, before: 0o664, want: 0o664},
		{umask: 0o022, before: 0o400, want: 0o400},
	} {
		folder := t.TempDir()
		name := filepath.Join(folder, "written")
		if test.before != 0 {
			require.NoError(t, os.WriteFile(name, []byte("of before"), 0o600))
			require.NoError(t, os.Chmod(name, test.before))
		}
		during := os.FileMode(0)
		masked(test.umask, func() {
			file, err := atomicfile.NewFile("--save", name)
			require.NoError(t, err)
			require.NoError(t, file.Write(func(out io.Writer) error {
				unfinished, err := filepath.Glob(filepath.Join(folder, ".unfinished-*"))
				require.NoError(t, err)
				require.Len(t, unfinished, 1)
				info, err := os.Stat(unfinished[0])
				require.NoError(t, err)
				during = info.Mode()
				_, err = io.WriteString(out, "new")
				return err
			}))
		})
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, test.want, info.Mode(), "umask %v, before %v", test.umask, test.before)
		require.Equal(t, test.want, during, "umask %v, before %v", test.umask, test.before)
	}
}

// masked calls do with another umask, which is that of the whole process.
func masked(umask os.FileMode, do func()) {
	before := syscall.Umask(int(umask))
	defer syscall.Umask(before)
	do()
}
