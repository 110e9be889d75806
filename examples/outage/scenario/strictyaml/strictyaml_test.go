package strictyaml_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario/strictyaml"
)

// shelf is a language of its own, to which scenarios are unknown.
type shelf struct {
	Label  string         `json:"label"`
	Height uint64         `json:"height"`
	Books  []book         `json:"books,omitempty"`
	Lent   map[string]int `json:"lent,omitempty"`
	Width  *width         `json:"width,omitempty"`
	Lamp   *lamp          `json:"lamp,omitempty"`
	Boards int            `json:"boards,omitempty" default:"3"`
	Colors []string       `json:"colors,omitempty" default:"[red, blue]" zero:"any color"`
}

type book struct {
	Title string `json:"title"`
	Pages int64  `json:"pages,omitempty"`
	place `json:",inline"`
}

type place struct {
	Row initials `json:"row,omitempty"`
}

type lamp struct {
	On bool `json:"on,omitempty"`
}

// width is one number or two.
type width struct {
	Least *float64 `json:"least,omitempty" short:"all"`
	Most  *float64 `json:"most,omitempty" short:"all"`
}

// initials read any text.
type initials string

func (i *initials) UnmarshalText(text []byte) error {
	*i = initials(strings.ToUpper(string(text)))
	return nil
}

func language() strictyaml.Language {
	return strictyaml.Language{What: "shelf", MustSay: func(t reflect.Type) bool { return t == reflect.TypeFor[width]() }}
}

const full = `label: left
height: 180
books:
- {title: Emma, pages: 474, row: 5}
- title: |-
    Sense
    and Sensibility
lent: {Emma: 2, "yes": 1}
width: {least: 30, most: 40}
`

func TestWhatIsReadIsWrittenTheSame(t *testing.T) {
	s := &shelf{}
	require.NoError(t, language().Read("f", []byte(full), s).Err())
	require.Equal(t, &shelf{
		Label: "left", Height: 180, Lent: map[string]int{"Emma": 2, "yes": 1},
		Books: []book{{Title: "Emma", Pages: 474, place: place{"5"}}, {Title: "Sense\nand Sensibility"}},
		Width: &width{Least: new(30.0), Most: new(40.0)},
	}, s)
	text, err := strictyaml.Write(s)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(full, "row: 5", "row: \"5\"", 1), string(text))
}

func TestEverythingThatIsWrongIsSaidWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":         {"", []string{"f:1:1: the file is empty; a shelf has at least label and height"}},
		"two documents": {"label: x\n---\nlabel: y\n", []string{"f:2:1: there is a second document; a file holds one shelf"}},
		"no YAML":       {"label: [", []string{"f:1:1: this is no YAML: did not find expected node content"}},
		"no text":       {"label: \xff", []string{"f:1:8: this is no text in UTF-8"}},
		"another kind": {"[1]", []string{
			"f:1:1: want fields (label, height, books, lent, width, lamp, boards, colors), not a list"}},
		"a null": {"label:\nheight: 1\nlamp:\nwidth:\nbooks:\n", []string{
			"f:1:7: label: has no value; give it one or leave it out",
			"f:3:6: lamp: has no value; for the default write lamp: {}",
			"f:4:7: width: has no value; give it one or leave it out",
			"f:5:7: books: has no value; give it one or leave it out"}},
		"types": {"label: 5\nheight: -1\nbooks: [{title: a, pages: \"4\"}]\nlent: {a: few}\n" +
			"lamp: {on: yes}\nwidth: wide\n", []string{
			`f:1:8: label: want a string; write "5", in quotes`,
			"f:2:9: height: -1 is not a whole number from 0",
			`f:3:27: books[0].pages: want a whole number, not "4" in quotes`,
			"f:4:11: lent.a: want a whole number, not few",
			"f:5:12: lamp.on: want true or false, not yes",
			"f:6:8: width: want a number, not wide"}},
		"fields": {"label: x\nlable: y\nlabel: z\nheightt: 2\nbooks: [{}]\ncolour: red\n", []string{
			"f:2:1: lable: there is no field lable; did you mean label?",
			"f:3:1: label: is given twice; the first time in line 1",
			"f:4:1: heightt: there is no field heightt; did you mean height?",
			"f:5:9: books[0].title: is missing",
			"f:6:1: colour: there is no field colour; did you mean colors?"}},
		"zeros": {"label: x\nheight: 0\nboards: 0\ncolors: []\n", []string{
			"f:3:9: boards: 0 is the same as leaving it out, which means 3; leave it out or give it another value",
			"f:4:9: colors: an empty list is the same as leaving it out, which means any color; leave it out or give it " +
				"another value"}},
		"anchors and tags": {"label: &a x\nheight: !!int 1\n", []string{
			"f:1:8: label: anchors and aliases are not part of the language; write it out",
			"f:2:9: height: tags are not part of the language; leave out !!int"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := language().Read("f", []byte(c.text), &shelf{}).Err()
			require.Error(t, err)
			require.Equal(t, c.want, strings.Split(err.Error(), "\n"))
		})
	}
}

func TestACallerAddsWhatItFinds(t *testing.T) {
	d := language().Read("f", []byte("label: x\nheight: tall\n"), &shelf{})
	require.Equal(t, []string{"height"}, d.Failed())
	d.Add(strictyaml.Problem{Path: "label", Message: "is short"})
	d.Add(strictyaml.Problem{Path: "books[3].title", Message: "is not there"})
	require.EqualError(t, d.Err(), "f:1:1: books[3].title: is not there\nf:1:8: label: is short\n"+
		"f:2:9: height: want a whole number, not tall")
}

func TestOneValueIsSet(t *testing.T) {
	s := &shelf{Books: []book{{}}, Lent: map[string]int{"a": 1}}
	for _, assignment := range []string{"books[0].row=c", "height=7", "width=3", "width.most=4.5", "boards=2"} {
		path, text, _ := strings.Cut(assignment, "=")
		require.NoError(t, language().Set(s, path, text), assignment)
	}
	require.Equal(t, &shelf{Height: 7, Boards: 2, Books: []book{{place: place{"C"}}}, Lent: map[string]int{"a": 1},
		Width: &width{Least: new(3.0), Most: new(4.5)}}, s)
	for assignment, want := range map[string]string{
		"boards=0":        "0 is the same as leaving it out, which means 3; give it another value",
		"lamp.on=true":    "the shelf has no lamp",
		"lent.a=2":        "there is no field a in lent; its values are given in the file",
		"books[1].row=a":  "there is no books[1]; books has books[0] to books[0]",
		"books[0].tilte=": "there is no field tilte in books[0]; did you mean title?",
	} {
		path, text, _ := strings.Cut(assignment, "=")
		require.EqualError(t, language().Set(s, path, text), want, assignment)
	}
}

func TestDefaultsFillWhatWasLeftOut(t *testing.T) {
	s := &shelf{Boards: 5}
	require.NoError(t, strictyaml.Fill(s))
	require.Equal(t, &shelf{Boards: 5, Colors: []string{"red", "blue"}}, s)
	require.ErrorContains(t, strictyaml.Fill(&struct {
		Count int `json:"count" default:"many"`
	}{}), "count: want a whole number, not many")
}

func TestACopySharesNothing(t *testing.T) {
	s := &shelf{Books: []book{{Title: "a"}}, Lent: map[string]int{"a": 1}, Width: &width{Least: new(1.0)}}
	c := strictyaml.Clone(s)
	require.Equal(t, s, c)
	c.Books[0].Title, c.Lent["a"], *c.Width.Least = "b", 2, 2
	require.Equal(t, &shelf{Books: []book{{Title: "a"}}, Lent: map[string]int{"a": 1}, Width: &width{Least: new(1.0)}}, s)
}

func TestNearMissesAreLikelyMistakes(t *testing.T) {
	names := []string{"node-eviction-rate", "secondary-node-eviction-rate", "node-monitor-period", "silence", "splitBrain",
		"zone", "a", "b"}
	for _, c := range []struct{ name, want string }{
		{"node-evicton-rate", "node-eviction-rate"},
		{"node_eviction_rate", "node-eviction-rate"},
		{"nodeEvictionRate", "node-eviction-rate"},
		{"monitor-period", "node-monitor-period"},
		{"secondary", "secondary-node-eviction-rate"},
		{"eviction-rate", ""}, // two flags end so
		{"SILENCE", "silence"},
		{"silense", "silence"},
		{"slience", "silence"},
		{"splitbrain", "splitBrain"},
		{"zoen", "zone"},
		{"zones", "zone"},
		{"c", ""}, // every single letter is as near
		{"A", "a"},
		{"", ""},
		{"explode", ""},
	} {
		require.Equal(t, c.want, strictyaml.Nearest(c.name, names), c.name)
	}
}
