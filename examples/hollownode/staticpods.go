package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
// is read once. The error joins all that is wrong, each with its file and the
// line at which its document begins.
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
		pod, err := parseManifest(document.Content[0])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", path, document.Content[0].Line, err))
			continue
		}
		pods = append(pods, pod)
	}
}

// isEmpty reports whether a document holds nothing but comments.
func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null"
}

// parseManifest returns the pod of a document.
func parseManifest(document *yaml.Node) (*corev1.Pod, error) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, err
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	object, _, err := decoder.Decode(text, nil, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return nil, strict.Errors()[0]
	}
	if err != nil {
		return nil, err
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("it is a %s, want a Pod of v1", object.GetObjectKind().GroupVersionKind().Kind)
	}
	return pod, kubelet.ValidateStaticPod(pod)
}
