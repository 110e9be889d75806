package nodehealth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// jsonDocument is an object as an API server stores it, with fields that this
// library does not know.
type jsonDocument struct{ root any }

var errTestFailed = errors.New("test failed")

func parse(t *testing.T, text string) *jsonDocument {
	t.Helper()
	d := &jsonDocument{}
	require.NoError(t, json.Unmarshal([]byte(text), &d.root), text)
	return d
}

func encode(t *testing.T, object any) *jsonDocument {
	t.Helper()
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return parse(t, string(data))
}

func (d *jsonDocument) String() string {
	data, err := json.Marshal(d.root)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func decodeNode(t *testing.T, d *jsonDocument) *corev1.Node {
	t.Helper()
	node := &corev1.Node{}
	require.NoError(t, json.Unmarshal([]byte(d.String()), node))
	return node
}

func decodePod(t *testing.T, d *jsonDocument) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	require.NoError(t, json.Unmarshal([]byte(d.String()), pod))
	return pod
}

// patch applies the operations test and add of RFC 6902 in order, or none of
// them. A member that is missing tests equal to null, as in the API server.
func (d *jsonDocument) patch(patch []byte) error {
	var operations []struct {
		Op    string
		Path  string
		Value any
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return err
	}
	// Encoded and decoded: a patch that fails half-way leaves nothing behind, and
	// the result has no memory in common with the patch.
	var root any
	if err := json.Unmarshal([]byte(d.String()), &root); err != nil {
		return err
	}
	for _, op := range operations {
		if !strings.HasPrefix(op.Path, "/") {
			return fmt.Errorf("%s: no path to a member: %q", op.Op, op.Path)
		}
		next, err := at(root, strings.Split(op.Path[1:], "/"), op.Op, op.Value)
		if err != nil {
			return fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
		root = next
	}
	d.root = root
	return nil
}

// at carries out one operation below a value and returns the new value.
func at(value any, path []string, op string, operand any) (any, error) {
	member := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch in := value.(type) {
	case map[string]any:
		if len(path) == 1 {
			return in, set(op, operand, in[member], func() { in[member] = operand })
		}
		inner, err := at(in[member], path[1:], op, operand)
		in[member] = inner
		return in, err
	case []any:
		if len(path) == 1 && op == "add" && member == "-" {
			return append(in, operand), nil
		}
		i, err := strconv.Atoi(member)
		if err != nil || i < 0 || i >= len(in) {
			return in, fmt.Errorf("no element %q in a list of %d", member, len(in))
		}
		if len(path) == 1 {
			if op == "add" {
				return in, errors.New("inserting into a list is not what we do")
			}
			return in, set(op, operand, in[i], nil)
		}
		in[i], err = at(in[i], path[1:], op, operand)
		return in, err
	}
	return value, fmt.Errorf("missing path: %v is neither object nor list", value)
}

func set(op string, operand, present any, add func()) error {
	switch op {
	case "add":
		add()
		return nil
	case "test":
		if !reflect.DeepEqual(present, operand) {
			return fmt.Errorf("%w: %v is not %v", errTestFailed, present, operand)
		}
		return nil
	}
	return fmt.Errorf("unknown operation %q", op)
}

func TestTheTestsOwnJSONPatchIsNotLenient(t *testing.T) {
	const document = `{"a":{"b":[{"c":1},{"c":2}],"n":null},"x/y":"z"}`
	for _, c := range []struct{ patch, want string }{
		{`[{"op":"test","path":"/a/b/1/c","value":2}]`, document},
		{`[{"op":"test","path":"/a/n","value":null}]`, document},
		{`[{"op":"test","path":"/a/missing","value":null}]`, document},
		{`[{"op":"test","path":"/x~1y","value":"z"}]`, document},
		{`[{"op":"add","path":"/a/b/-","value":{"c":3}},{"op":"add","path":"/a/b/2/d","value":4}]`,
			`{"a":{"b":[{"c":1},{"c":2},{"c":3,"d":4}],"n":null},"x/y":"z"}`},
		{
			`[{"op":"add","path":"/a","value":[]},{"op":"add","path":"/a/-","value":1}]`,
			`{"a":[1],"x/y":"z"}`,
		},
		{`[{"op":"test","path":"/a/b/0/c","value":2}]`, ""},
		{`[{"op":"test","path":"/a/b/2","value":null}]`, ""},
		{`[{"op":"test","path":"/a/b","value":null}]`, ""},
		{`[{"op":"test","path":"/q/b","value":null}]`, ""},
		{`[{"op":"add","path":"/q/b","value":1}]`, ""},
		{`[{"op":"add","path":"/a/b/0/c","value":9},{"op":"test","path":"/a/b/0/c","value":1}]`, ""},
		{`[{"op":"remove","path":"/a"}]`, ""},
	} {
		d := parse(t, document)
		err := d.patch([]byte(c.patch))
		if c.want == "" {
			require.Error(t, err, c.patch)
			c.want = document
		} else {
			require.NoError(t, err)
		}
		require.JSONEq(t, c.want, d.String())
	}
}
