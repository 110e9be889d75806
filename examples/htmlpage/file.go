package htmlpage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is the file that a flag names. It gets its name once it is complete, so
// that a page of before is not lost to a run that fails. Nil writes nothing.
type File struct {
	flag, name string
	file       *os.File // nil once it has its name
}

// NewFile finds out before a long run whether there can be such a file. Without
// a name it returns nil. The flag is named by its errors.
func NewFile(flag, name string) (*File, error) {
	if name == "" {
		return nil, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s %s: it is not a file", flag, name)
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".page-*.html")
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return &File{flag: flag, name: name, file: file}, nil
}

// Write has the page written, and gives the file its name. Discard does nothing
// then, unless Write returned an error.
func (f *File) Write(write func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	err := write(f.file)
	err = errors.Join(err, f.file.Chmod(0o644), f.file.Close())
	if err == nil {
		err = os.Rename(f.file.Name(), f.name)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", f.flag, f.name, err)
	}
	f.file = nil
	return nil
}

// Discard removes what was not completed.
func (f *File) Discard() {
	if f == nil || f.file == nil {
		return
	}
	_ = f.file.Close() // Write may have closed it
	_ = os.Remove(f.file.Name())
}
