package cri

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AnnotationDomain is the domain of the annotations that [ParseScript] reads.
const AnnotationDomain = "hollownode.kubelife.dev"

// UnknownNames returns an error for each annotation of AnnotationDomain that is
// not known. The containers are those that an annotation may be for.
func UnknownNames(annotations map[string]string, known, containers []string) []error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		domain, name, _ := strings.Cut(key, "/")
		container, scoped := strings.CutSuffix(domain, "."+AnnotationDomain)
		switch {
		case domain != AnnotationDomain && !scoped:
		case scoped && !slices.Contains(containers, container):
			problems = append(problems, fmt.Errorf("annotation %s: there is no container %q", key, container))
		case !slices.Contains(known, name):
			problems = append(problems, fmt.Errorf("annotation %s: there is no %q, want one of %s", key, name,
				strings.Join(slices.Sorted(slices.Values(known)), ", ")))
		}
	}
	return problems
}
