package sidebyside

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// Ours is the name of the subject whose faults are an error.
const Ours = "ours"

// A Subject is a program that plays.
type Subject struct {
	// Name is what --subject and messages call it, Title the head of its column.
	Name, Title string
	// Build builds the program into a folder, or finds it built.
	Build func(ctx context.Context, dir string, progress io.Writer) (Program, error)
	// Args are the arguments that it has in each play.
	Args []string
}

// A Program is what a play runs, with the arguments that it always has.
type Program struct {
	Path string
	Args []string
}

// OurSubject is a program of the module examples, as the subject.
func OurSubject(program string, args ...string) Subject {
	s := OurProgram(program)
	s.Name, s.Args = Ours, args
	return s
}

// OurProgram is a program in a folder of examples, with the Kubernetes of this
// module: that of the others. A hash of a template depends on it.
func OurProgram(folder string) Subject {
	const module = "github.com/kubelife/lifecycle/examples/"
	name := path.Base(folder)
	return Subject{
		Name: name, Title: "examples/" + folder,
		Build: func(ctx context.Context, dir string, _ io.Writer) (p Program, err error) {
			p.Path = filepath.Join(dir, name)
			_, err = controlplane.Go(ctx, "", "build", "-o", p.Path, module+folder)
			return p, err
		},
	}
}

// Upstream is kube-controller-manager with some of its controllers, as a
// subject.
func Upstream(controllers string, args ...string) Subject {
	s := Kubernetes(controlplane.KubeControllerManager)
	s.Name, s.Title = "upstream", "kube-controller-manager v1.37.1"
	s.Args = append([]string{"--controllers=" + controllers}, args...)
	return s
}

// Kubernetes is a program of Kubernetes.
func Kubernetes(program controlplane.Binary) Subject {
	return Subject{
		Name: program.Name(), Title: program.Name(),
		Build: func(ctx context.Context, _ string, progress io.Writer) (Program, error) {
			paths, err := controlplane.Build(ctx, controlplane.BuildConfig{Progress: progress}, program)
			return Program{Path: paths[program]}, err
		},
	}
}

// build returns the program of the subject. One of ours that is there already
// is taken as it is.
func (s Subject) build(ctx context.Context, dir, built string, progress io.Writer) (p Program, err error) {
	if s.Name == Ours && built != "" {
		p.Path = built
	} else if p, err = s.Build(ctx, dir, progress); err != nil {
		return p, err
	}
	p.Args = slices.Concat(p.Args, s.Args)
	return p, nil
}

// names returns the names in order, separated by commas.
func names[T any](all []T, name func(T) string) string {
	var list []string
	for _, one := range all {
		list = append(list, name(one))
	}
	return strings.Join(list, ", ")
}

// chosen returns those that a comma-separated list names, in the order of all.
// An empty list chooses all.
func chosen[T any](all []T, list string, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	wanted := strings.Split(list, ",")
	for _, w := range wanted {
		if !slices.ContainsFunc(all, func(one T) bool { return name(one) == w }) {
			return nil, fmt.Errorf("there is no %q, only %s", w, names(all, name))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool {
		return !slices.Contains(wanted, name(one))
	}), nil
}
