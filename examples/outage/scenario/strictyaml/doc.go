// Package strictyaml reads YAML into structs strictly, so that a file means
// what it looks like.
//
// A field that does not exist or is given twice is an error. So are a value of
// the wrong type, one that is missing, and a zero that is the same as leaving a
// field out. YAML's anchors, aliases and tags are refused. All errors are
// reported at once, each with its line, its path and what there is instead.
//
// The structs have tags as for package encoding/json, and those that [Field]
// explains. A type with UnmarshalText reads any single value. Where all fields
// of a struct are pointers with the tag short:"all", one value stands for all.
// The values are structs, slices, maps with string keys, pointers, strings,
// bools, int, int64, uint64 and float64, and types made of them.
package strictyaml
