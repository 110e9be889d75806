// Package atomicfile writes the file that a flag names, all of it or nothing.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is the file that a flag names. It gets its name once it is complete, so
// that what was there before is not lost to a run that fails. It keeps the
// permissions of what it replaces; a new file has those that the umask leaves.
// Nil writes nothing.
type File struct{ flag, name string }

// NewFile finds out before a long run whether there can be such a file, and
// leaves none. Without a name it returns nil. The flag is named by its errors.
func NewFile(flag, name string) (*File, error) {
	if name == "" {
		return nil, nil
	}
	f := &File{flag, name}
	file, err := f.create()
	if err == nil {
		err = errors.Join(file.Close(), os.Remove(file.Name()))
	}
	if err != nil {
		return nil, f.failed(err)
	}
	return f, nil
}

// Write has the content written, and gives the file its name.
func (f *File) Write(write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	file, err := f.create()
	if err != nil {
		return f.failed(err)
	}
	err = errors.Join(write(file), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.name)
	}
	if err != nil {
		return f.failed(errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

func (f *File) failed(err error) error { return fmt.Errorf("%s %s: %w", f.flag, f.name, err) }

// create opens a file next to the one to be written. It has the permissions of
// that from the beginning: what is private is never open to others.
func (f *File) create() (*os.File, error) {
	info, err := os.Stat(f.name)
	switch {
	case err != nil:
		return open(f.name, 0o666)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	}
	file, err := open(f.name, info.Mode().Perm())
	if err != nil {
		return nil, err
	}
	if err = file.Chmod(info.Mode().Perm()); err != nil { // the umask may have taken some
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return file, nil
}

func open(next string, mode os.FileMode) (*os.File, error) {
	name := filepath.Join(filepath.Dir(next), ".unfinished-"+rand.Text())
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}
