package federation

import (
	"bytes"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"
)

type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind, ListKind string }
		Versions []struct {
			Name   string
			Schema struct {
				OpenAPIV3Schema field
			}
		}
	}
}

// field is what a schema says of one field.
type field struct {
	Type, Format string
	Properties   map[string]field
	Items        *field
}

// The definitions describe the Go types: the same fields, of the same types.
func TestTheDefinitionsDescribeTheTypes(t *testing.T) {
	types := map[string]reflect.Type{
		"Cluster": reflect.TypeFor[Cluster](), "Binding": reflect.TypeFor[Binding](),
	}
	scheme := runtime.NewScheme()
	require.NoError(t, AddToScheme(scheme))
	documents := bytes.Split(CRDs(), []byte("\n---\n"))
	require.Len(t, documents, len(types))
	for _, document := range documents {
		var d definition
		require.NoError(t, yaml.Unmarshal(document, &d))
		require.Equal(t, GroupVersion().Group, d.Spec.Group)
		require.Len(t, d.Spec.Versions, 1)
		require.Equal(t, GroupVersion().Version, d.Spec.Versions[0].Name)
		names := d.Spec.Names
		require.True(t, scheme.Recognizes(GroupVersion().WithKind(names.Kind)))
		require.True(t, scheme.Recognizes(GroupVersion().WithKind(names.ListKind)))
		require.Equal(t, schemaOf(types[names.Kind]), d.Spec.Versions[0].Schema.OpenAPIV3Schema, names.Kind)
	}
}

// schemaOf returns the schema that follows from a Go type.
func schemaOf(typ reflect.Type) field {
	switch typ {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return field{Type: "string", Format: "date-time"}
	case reflect.TypeFor[metav1.ObjectMeta]():
		return field{Type: "object"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return schemaOf(typ.Elem())
	case reflect.Slice:
		items := schemaOf(typ.Elem())
		return field{Type: "array", Items: &items}
	case reflect.String:
		return field{Type: "string"}
	case reflect.Int32, reflect.Int64:
		return field{Type: "integer", Format: typ.Kind().String()}
	}
	out := field{Type: "object", Properties: map[string]field{}}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			out.Properties[name] = schemaOf(f.Type)
			continue
		}
		maps.Copy(out.Properties, schemaOf(f.Type).Properties)
	}
	return out
}

// A copy equals its object, and a change of the copy changes nothing else.
func TestACopySharesNoMemory(t *testing.T) {
	for _, kind := range []runtime.Object{&Cluster{}, &ClusterList{}, &Binding{}, &BindingList{}} {
		object, twin := filled(kind), filled(kind)
		duplicate := object.DeepCopyObject()
		require.Equal(t, object, duplicate)
		scribble(reflect.ValueOf(duplicate).Elem())
		require.Equal(t, twin, object, "%T", object)
	}
}

// filled returns an object of the kind with a value in each field, always the
// same.
func filled(kind runtime.Object) runtime.Object {
	object, _ := reflect.TypeAssert[runtime.Object](reflect.New(reflect.TypeOf(kind).Elem()))
	randfill.NewWithSeed(1).NilChance(0).NumElements(1, 3).Fill(object)
	return object
}

// scribble clears whatever a value refers to.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		v.Clear()
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				scribble(f)
			}
		}
	}
}
