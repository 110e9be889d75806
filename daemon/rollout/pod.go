package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

// The labels of a pod that name the template that it is made from.
const (
	revisionLabel   = revision.HashLabel
	generationLabel = "pod-template-generation"
)

// NewPod returns the pod of a creation: what the template says, for one node,
// owned by a set. Of the owner only Object and Kind count. The pod is what
// kube-controller-manager makes, except that it has a name.
//
// The name follows from the set's UID, the revision, the node and the attempt,
// and starts with the set's name. So the retry of a creation whose answer was
// lost cannot make a second pod: the API server answers that it exists. The
// same holds for another process that has counted the same attempts. The name
// has at most 63 characters, so that the pod's hostname is not cut.
//
// The namespace is the set's. For a cluster-wide set it is empty, and the
// client decides.
//
// The spec is only read and copied: calls for one spec may be concurrent. It is
// an error if the set or the spec lack what a pod needs, or if the creation was
// planned for another spec.
func NewPod(owner ownership.Owner, spec *Spec, creation Creation) (*corev1.Pod, error) {
	problems := append([]error{owner.ValidateReference()}, checkCreation(owner, spec, creation)...)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            podName(owner.Object, creation),
			Namespace:       owner.Object.GetNamespace(),
			Labels:          podLabels(spec),
			Annotations:     maps.Clone(spec.Template.Annotations),
			Finalizers:      slices.Clone(spec.Template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner.Object, owner.Kind)},
		},
		Spec: daemon.PodSpecFor(spec.Template, creation.Node),
	}
	return pod, nil
}

func checkCreation(owner ownership.Owner, spec *Spec, creation Creation) []error {
	var problems []error
	if creation.Node == "" {
		problems = append(problems, errors.New("the creation has no Node: a pod is made for one node"))
	}
	switch {
	case spec.Revision == "":
		problems = append(problems, errors.New(
			"the spec has no Revision: it is the hash of the template's ControllerRevision"))
	case spec.Revision != creation.Revision:
		problems = append(problems, fmt.Errorf(
			"the creation was planned for revision %q, and the spec is %q",
			creation.Revision,
			spec.Revision,
		))
	}
	switch {
	case spec.Template == nil:
		problems = append(problems, errors.New("the spec has no Template"))
	case spec.Template.Spec.NodeName != "" && spec.Template.Spec.NodeName != creation.Node:
		problems = append(problems,
			fmt.Errorf("the template is for node %s only", spec.Template.Spec.NodeName))
	}
	if owner.Selector != nil && spec.Template != nil {
		problems = append(problems, owner.ValidateLabels(podLabels(spec)))
	}
	return problems
}

func podLabels(spec *Spec) map[string]string {
	all := maps.Clone(spec.Template.Labels)
	if all == nil {
		all = make(map[string]string, 2)
	}
	all[revisionLabel] = spec.Revision
	if spec.TemplateGeneration != "" {
		all[generationLabel] = spec.TemplateGeneration
	}
	return all
}

const (
	// longestName is that of a DNS label. Names of pods may be longer, but the
	// kubelet would cut off the end for the hostname, which distinguishes pods.
	longestName = 63
	// suffixLength makes two of the pods of 100,000 nodes have the same suffix
	// once in fifty such sets. Then one takes its next attempt.
	suffixLength = 8
	// suffixAlphabet is that of generated names in Kubernetes. It has no vowels
	// and no similar digits, so that no words result.
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// podName returns the same name in each process, also after a restart. The
// scheme must never change: a pod of another name would be a second one.
func podName(owner metav1.Object, creation Creation) string {
	prefix := owner.GetName()
	if room := longestName - suffixLength - 1; len(prefix) > room {
		prefix = strings.TrimRight(prefix[:room], "-.")
	}
	return prefix + "-" + suffix(owner.GetUID(), &creation)
}

// suffix is a number below 27^8. SHA-256 spreads similar names uniformly;
// security is not the point.
func suffix(uid types.UID, of *Creation) string {
	key := fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", uid, of.Node, of.Revision, of.Attempt)
	sum := sha256.Sum256(key)
	number := binary.BigEndian.Uint64(sum[:])
	var digits [suffixLength]byte
	for i := range digits {
		digits[i] = suffixAlphabet[number%uint64(len(suffixAlphabet))]
		number /= uint64(len(suffixAlphabet))
	}
	return string(digits[:])
}
