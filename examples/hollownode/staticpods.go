package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// longestManifest is the most bytes of a manifest. Source: maxConfigLength of
// pkg/kubelet/config, v1.37.1.
const longestManifest = 10 << 20

// readStaticPods reads the pods of a file, or of all files of a folder in the
// order of their names. Hidden files are left out, so that a mounted ConfigMap
// is read once. The error joins all that is wrong, each with its file and line.
func readStaticPods(path string) ([]*corev1.Pod, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return readManifest(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	var problems []error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		read, err := readManifest(filepath.Join(path, entry.Name()))
		pods, problems = append(pods, read...), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if err := kubelet.ValidateStaticPods(pods); err != nil { // two files with one name
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return pods, nil
}

// readManifest reads the pods of one file. Documents are separated by ---.
func readManifest(path string) ([]*corev1.Pod, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: not a file, and folders in a folder are not read", path)
	case info.Size() > longestManifest:
		return nil, fmt.Errorf("read %s: %d bytes, at most %d", path, info.Size(), longestManifest)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	var problems []error
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		switch err := documents.Decode(&document); {
		case errors.Is(err, io.EOF):
			if len(pods)+len(problems) == 0 {
				problems = append(problems, fmt.Errorf("%s: there is no pod", path))
			}
			return pods, errors.Join(problems...)
		case err != nil: // it names the line
			return nil, errors.Join(append(problems, fmt.Errorf("%s: %w", path, err))...)
		case isEmpty(&document):
			continue
		}
		pod, line, err := parseManifest(&document)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", path, line, err))
			continue
		}
		pods = append(pods, pod)
	}
}

// isEmpty reports whether a document holds nothing but comments.
func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null"
}

// parseManifest returns the pod of a document, or the line and what is wrong.
func parseManifest(document *yaml.Node) (*corev1.Pod, int, error) {
	root := document.Content[0]
	text, err := yaml.Marshal(root)
	if err != nil {
		return nil, root.Line, err
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	object, _, err := decoder.Decode(text, nil, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		first := strict.Errors()[0]
		return nil, lineOf(root, first.Error()), first
	}
	if err != nil {
		return nil, root.Line, err
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, root.Line, fmt.Errorf("it is a %s, want a Pod of v1", object.GetObjectKind().GroupVersionKind().Kind)
	}
	if err := kubelet.ValidateStaticPod(pod); err != nil {
		return nil, lineOf(root, err.Error()), err
	}
	return pod, root.Line, nil
}

// lineOf returns the line of the field that a message names, or of the nearest
// field around it. A name may stand in quotes, as of an unknown field.
func lineOf(root *yaml.Node, message string) int {
	for word := range strings.FieldsSeq(message) {
		path := strings.Trim(word, `"`)
		if key, _, _ := strings.Cut(path, "."); entry(root, key) == nil {
			continue
		}
		node, line := root, root.Line
		for _, name := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
			key := entry(node, name)
			if key == nil {
				break
			}
			node, line = key.value, key.line
		}
		return line
	}
	return root.Line
}

// field is a value of a mapping or a list, with the line of its name.
type field struct {
	value *yaml.Node
	line  int
}

// entry returns what a node has under a name or an index, or nil.
func entry(node *yaml.Node, name string) *field {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return &field{node.Content[i+1], node.Content[i].Line}
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return &field{node.Content[i], node.Content[i].Line}
		}
	}
	return nil
}
