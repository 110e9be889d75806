package taints_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// applyJSONPatch applies the operations test and add of RFC 6902 to a JSON
// object. As in the API server's library, a missing member tests equal to null.
// Paths through lists are refused.
func applyJSONPatch(document, patch []byte) ([]byte, error) {
	var operations []struct {
		Op    string
		Path  string
		Value any
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("decode patch: %w", err)
	}
	var root map[string]any
	if err := json.Unmarshal(document, &root); err != nil {
		return nil, fmt.Errorf("decode document: %w", err)
	}
	for _, op := range operations {
		parent, member, err := locate(root, op.Path)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
		switch op.Op {
		case "add":
			parent[member] = op.Value
		case "test":
			if !reflect.DeepEqual(parent[member], op.Value) {
				return nil, fmt.Errorf("test %s failed: %v is not %v", op.Path, parent[member], op.Value)
			}
		default:
			return nil, fmt.Errorf("unknown operation %q", op.Op)
		}
	}
	return json.Marshal(root)
}

// locate finds the object that holds the last member of a JSON Pointer.
func locate(root map[string]any, path string) (map[string]any, string, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, "", fmt.Errorf("no path to a member")
	}
	members := strings.Split(path[1:], "/")
	for i := range members {
		members[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(members[i])
	}
	last := len(members) - 1
	for _, member := range members[:last] {
		inner, ok := root[member].(map[string]any)
		if !ok {
			return nil, "", fmt.Errorf("missing path: %q is no object", member)
		}
		root = inner
	}
	return root, members[last], nil
}
