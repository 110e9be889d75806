package revision

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
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/dump"
)

// HashLabel is the label of revisions and pods that holds the hash of their
// template.
const HashLabel = appsv1.ControllerRevisionHashLabelKey

// ErrInvalidData means that the data of a ControllerRevision is not a template
// as [Data] writes it.
var ErrInvalidData = errors.New("revision data is not a pod template")

// Data returns a template as a ControllerRevision keeps it: a strategic merge
// patch that replaces the template of the owner. The bytes are those that
// kube-controller-manager writes when it is built with the same version of
// k8s.io/api. Fields that this version does not know are not in them.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	if template == nil {
		return nil, errors.New("encode revision data: there is no template")
	}
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode revision data: %w", err)
	}
	// A map is encoded with its keys in order, a struct in the order of its
	// declaration.
	var fields map[string]any
	if err := utiljson.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("encode revision data: %w", err)
	}
	fields["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
	if err != nil {
		return nil, fmt.Errorf("encode revision data: %w", err)
	}
	return data, nil
}

// Hash returns the hash by which kube-controller-manager names the revision of
// a template. Pods carry it as [HashLabel]. Collisions is
// status.collisionCount; nil and zero give two hashes. A nil template has the
// hash of an empty one.
//
// Use it to name a new revision only. It depends on the names of the Go fields,
// so another version of k8s.io/api has another hash for the same template. To
// compare templates, compare data.
func Hash(template *corev1.PodTemplateSpec, collisions *int32) string {
	if template == nil {
		template = &corev1.PodTemplateSpec{}
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(dump.ForHash(*template))) // a hash accepts everything
	if collisions != nil {
		// Eight bytes for a number of four, as in k8s.io/kubernetes/pkg/controller.
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		_, _ = sum.Write(count[:])
	}
	return safeEncode(strconv.FormatUint(uint64(sum.Sum32()), 10))
}

// safeEncode encodes a text with letters and digits that form no bad words. It
// does what SafeEncodeString of k8s.io/apimachinery/pkg/util/rand does. A core
// does not import that package, because its other functions are random.
func safeEncode(text string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	encoded := []byte(text)
	for i, b := range encoded {
		encoded[i] = alphabet[int(b)%len(alphabet)]
	}
	return string(encoded)
}

// New returns the revision of the source's template, to be created, with the
// number. Name, labels, annotations and controller are those that
// kube-controller-manager gives it.
func New(source Source, number int64) (*appsv1.ControllerRevision, error) {
	if err := source.Validate(); err != nil {
		return nil, err
	}
	owner := source.Owner
	data, err := Data(source.Template)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", owner, err)
	}
	hash := Hash(source.Template, source.Collisions)
	labels := map[string]string{}
	maps.Copy(labels, source.Template.Labels)
	labels[HashLabel] = hash
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

// Template returns the template that a revision keeps, or [ErrInvalidData].
// Fields that this version of k8s.io/api does not know are lost.
func Template(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	encoded, err := templateIn(revision.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision.Name, err)
	}
	template := &corev1.PodTemplateSpec{}
	if err := utiljson.Unmarshal(encoded, template); err != nil {
		return nil, fmt.Errorf("revision %s: %w: %w", revision.Name, ErrInvalidData, err)
	}
	return template, nil
}

// templateIn returns the template in revision data, as it is encoded there.
//
// It refuses any other field. A rollback applies the data to the owner, and not
// each client that may write revisions may change the owner's labels or
// selector. Without $patch the API server would merge the template with the
// present one.
func templateIn(data []byte) (json.RawMessage, error) {
	spec, err := onlyField(data, "spec")
	if err != nil {
		return nil, err
	}
	template, err := onlyField(spec, "template")
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(template, &fields); err != nil {
		return nil, fmt.Errorf("%w: template: %w", ErrInvalidData, err)
	}
	if string(fields["$patch"]) != `"replace"` {
		return nil, fmt.Errorf(`%w: template.$patch is %s, want "replace"`,
			ErrInvalidData, fields["$patch"])
	}
	return template, nil
}

// onlyField returns the value of an object's field, if it has no other.
func onlyField(object []byte, name string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidData, err)
	}
	value, found := fields[name]
	if !found || len(fields) != 1 {
		return nil, fmt.Errorf("%w: want the field %q and no other", ErrInvalidData, name)
	}
	return value, nil
}

// hashOf returns the hash that the pods of a revision carry. For a revision
// without the label it is the name, as in kube-controller-manager, which is
// unique.
func hashOf(revision *appsv1.ControllerRevision) string {
	if hash := revision.Labels[HashLabel]; hash != "" {
		return hash
	}
	return revision.Name
}

// sameData reports whether a revision keeps exactly these bytes.
func sameData(revision *appsv1.ControllerRevision, data []byte) bool {
	return bytes.Equal(revision.Data.Raw, data)
}

// sameTemplate reports whether a revision keeps the template that is in data.
// Its bytes may differ: Kubernetes up to v1.33 wrote creationTimestamp as null,
// and later versions leave it out. A comparison of bytes alone would restart
// all pods (kubernetes/kubernetes#134773, mended there for StatefulSets only).
//
// A revision with unknown fields is never the same, because it may differ in
// those.
func sameTemplate(revision *appsv1.ControllerRevision, data []byte) bool {
	if sameData(revision, data) {
		return true
	}
	encoded, err := templateIn(revision.Data.Raw)
	if err != nil {
		return false
	}
	var known struct {
		corev1.PodTemplateSpec
		Patch string `json:"$patch"`
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&known); err != nil {
		return false
	}
	again, err := Data(&known.PodTemplateSpec)
	return err == nil && bytes.Equal(again, data)
}

// guard returns the metadata that makes the API server refuse a merge patch if
// the object is another one or has changed.
func guard(uid types.UID, resourceVersion string) map[string]any {
	metadata := map[string]any{"uid": uid}
	if resourceVersion != "" { // an object from a fake client may have none
		metadata["resourceVersion"] = resourceVersion
	}
	return metadata
}
