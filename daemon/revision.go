package daemon

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/dump"
)

// ErrRevisionData means that the data of a ControllerRevision is not a template as
// [RevisionData] writes it.
var ErrRevisionData = errors.New("revision data is not a pod template")

// RevisionData returns a template as a ControllerRevision keeps it: a strategic merge
// patch that puts the template in place of another. The bytes are those that
// kube-controller-manager writes when it is built with the same version of k8s.io/api;
// fields that this version does not know are not in them.
func RevisionData(template *corev1.PodTemplateSpec) ([]byte, error) {
	if template == nil {
		return nil, errors.New("write revision data: there is no template")
	}
	written, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("write revision data: %w", err)
	}
	// By way of a map, which is written with its keys in order. A struct with the
	// template's fields would write them in the order in which they are declared.
	var fields map[string]any
	if err := utiljson.Unmarshal(written, &fields); err != nil {
		return nil, fmt.Errorf("write revision data: %w", err)
	}
	fields["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
	if err != nil {
		return nil, fmt.Errorf("write revision data: %w", err)
	}
	return data, nil
}

// RevisionHash returns the hash by which kube-controller-manager names the revision of a
// template, and which its pods carry as the label controller-revision-hash. Collisions is
// status.collisionCount; nil and zero are not the same. No template is as an empty one.
//
// It is a name for a new revision and nothing more: it depends on the names of the Go
// fields, so that another version of k8s.io/api has another hash for the same template.
// Whether a revision is of a template is seen from its data.
func RevisionHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	if template == nil {
		template = &corev1.PodTemplateSpec{}
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(dump.ForHash(*template))) // a hash takes everything
	if collisions != nil {
		// Eight bytes for a number of four, as in k8s.io/kubernetes/pkg/controller.
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		_, _ = sum.Write(count[:])
	}
	return safeEncode(strconv.FormatUint(uint64(sum.Sum32()), 10))
}

// safeEncode writes a text with letters and digits of which no bad word can be made. It
// is SafeEncodeString of k8s.io/apimachinery/pkg/util/rand, a package that a core does
// not import, because its other functions are random.
func safeEncode(text string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	encoded := []byte(text)
	for i, b := range encoded {
		encoded[i] = alphabet[int(b)%len(alphabet)]
	}
	return string(encoded)
}

// NewRevision returns the revision of the owner's template, to be created, with the
// number. Name, labels, annotations and controller are those that
// kube-controller-manager gives it.
func NewRevision(owner Owner, number int64) (*appsv1.ControllerRevision, error) {
	if err := owner.Validate(); err != nil {
		return nil, err
	}
	data, err := RevisionData(owner.Template)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", owner, err)
	}
	hash := RevisionHash(owner.Template, owner.Collisions)
	labels := map[string]string{}
	maps.Copy(labels, owner.Template.Labels)
	labels[revisionLabel] = hash
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:            owner.Object.GetName() + "-" + hash,
			Namespace:       owner.Object.GetNamespace(),
			Labels:          labels,
			Annotations:     maps.Clone(owner.Object.GetAnnotations()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner.Object, owner.Kind)},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}, nil
}

// RevisionTemplate returns the template that a revision keeps, or [ErrRevisionData].
// Fields that this version of k8s.io/api does not know are lost.
func RevisionTemplate(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	written, err := templateIn(revision.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision.Name, err)
	}
	template := &corev1.PodTemplateSpec{}
	if err := utiljson.Unmarshal(written, template); err != nil {
		return nil, fmt.Errorf("revision %s: %w: %w", revision.Name, ErrRevisionData, err)
	}
	return template, nil
}

// templateIn returns the template that is in revision data, as it is written there.
//
// Nothing else may be there. The data is applied to the owner when somebody goes back
// to the revision, and whoever may write revisions need not have the right to change the
// owner's labels, or its selector. Without $patch it would be mixed with the template
// that is there.
func templateIn(data []byte) (json.RawMessage, error) {
	spec, err := only(data, "spec")
	if err != nil {
		return nil, err
	}
	template, err := only(spec, "template")
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(template, &fields); err != nil {
		return nil, fmt.Errorf("%w: template: %w", ErrRevisionData, err)
	}
	if string(fields["$patch"]) != `"replace"` {
		return nil, fmt.Errorf(`%w: template.$patch is %s, want "replace"`, ErrRevisionData, fields["$patch"])
	}
	return template, nil
}

// only returns the one field that an object has.
func only(object []byte, name string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRevisionData, err)
	}
	value, found := fields[name]
	if !found || len(fields) != 1 {
		return nil, fmt.Errorf("%w: want the field %q and no other", ErrRevisionData, name)
	}
	return value, nil
}

// hashOf returns the hash that the pods of a revision carry. One without the label is
// given its name for a hash, as by kube-controller-manager, so that no collision can
// come of it.
func hashOf(revision *appsv1.ControllerRevision) string {
	if hash := revision.Labels[revisionLabel]; hash != "" {
		return hash
	}
	return revision.Name
}

// sameData says whether a revision keeps just these bytes.
func sameData(revision *appsv1.ControllerRevision, data []byte) bool {
	return bytes.Equal(revision.Data.Raw, data)
}

// sameTemplate says whether a revision keeps the template that the data is of. It may
// have been written in another way: Kubernetes up to v1.33 wrote creationTimestamp as
// null, and later versions leave it out. To compare only bytes restarts all pods then
// (kubernetes/kubernetes#134773, mended there for StatefulSets only).
//
// What has fields that are unknown here is not the same, whatever else is in it: it may
// differ from the owner's template in just those.
func sameTemplate(revision *appsv1.ControllerRevision, data []byte) bool {
	if sameData(revision, data) {
		return true
	}
	written, err := templateIn(revision.Data.Raw)
	if err != nil {
		return false
	}
	var known struct {
		corev1.PodTemplateSpec
		Patch string `json:"$patch"`
	}
	decoder := json.NewDecoder(bytes.NewReader(written))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&known); err != nil {
		return false
	}
	again, err := RevisionData(&known.PodTemplateSpec)
	return err == nil && bytes.Equal(again, data)
}
