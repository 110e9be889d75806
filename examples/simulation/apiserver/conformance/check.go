package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// Run plays all cases as subtests. expired is a version whose changes to pods
// the server has forgotten; empty leaves out the cases that need one.
func Run(t *testing.T, client kubernetes.Interface, expired string) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if expired == "" && c.needsExpired() {
				t.Skip("this server forgets nothing")
			}
			if err := Check(t.Context(), client, expired, c); err != nil {
				t.Error(err)
			}
		})
	}
}

func (c Case) needsExpired() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool {
		return strings.Contains(s.Call.Body, "{expired}")
	})
}

// Check plays one case in a new namespace and returns what differs from the
// table.
func Check(ctx context.Context, client kubernetes.Interface, expired string, c Case) error {
	namespace, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "conformance-"},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	p := &player{
		server: server{client, namespace.Name},
		names:  map[string]string{"{ns}": namespace.Name, "{expired}": expired},
	}
	var all []error
	for i, step := range c.Steps {
		if err := p.play(ctx, step); err != nil {
			all = append(all, fmt.Errorf("step %d, %s: %w", i+1, step.About, err))
		}
	}
	return errors.Join(all...)
}

// player plays the steps of one case.
type player struct {
	server server
	names  map[string]string // what a reference stands for
}

func (p *player) play(ctx context.Context, step Step) error {
	call := step.Call
	call.Name, call.Body = p.expand(call.Name), p.expand(call.Body)
	if call.Verb == VerbWatch {
		return p.playWatch(ctx, call, step.Want)
	}
	object, err := p.server.do(ctx, call)
	if err := compareStatus(err, step.Want); err != nil {
		return err
	}
	if object == nil {
		return nil
	}
	if err := p.compareObject(object, step.Want); err != nil {
		return err
	}
	return p.keep(step.Keep, object)
}

func (p *player) expand(text string) string {
	for name, value := range p.names {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

func (p *player) keep(name string, object runtime.Object) error {
	if name == "" {
		return nil
	}
	if list, err := meta.ListAccessor(object); err == nil {
		p.names["{"+name+".version}"] = list.GetResourceVersion()
		return nil
	}
	m, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	p.names["{"+name+".uid}"] = string(m.GetUID())
	p.names["{"+name+".version}"] = m.GetResourceVersion()
	return nil
}

// compareStatus compares a refusal with what is wanted.
func compareStatus(err error, want Answer) error {
	if err == nil {
		if want.Code != 0 {
			return fmt.Errorf("succeeds, want %d %s", want.Code, want.Reason)
		}
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Errorf("is no answer of an API server: %w", err)
	}
	got := status.Status()
	var causes []Cause
	var retryAfter int32
	if got.Details != nil {
		retryAfter = got.Details.RetryAfterSeconds
		for _, cause := range got.Details.Causes {
			causes = append(causes, Cause{cause.Type, cause.Field})
		}
	}
	if got.Code != want.Code || got.Reason != want.Reason || !slices.Equal(causes, want.Causes) {
		return fmt.Errorf("answers %d %s %v, want %d %s %v: %w",
			got.Code, got.Reason, causes, want.Code, want.Reason, want.Causes, err)
	}
	if retryAfter != want.RetryAfter {
		return fmt.Errorf("says to ask again in %d s, want %d s: %w", retryAfter, want.RetryAfter, err)
	}
	return nil
}

func (p *player) compareObject(object runtime.Object, want Answer) error {
	all := []error{p.compareFields(object, want.Fields)}
	if want.NewerThan != "" {
		all = append(all, newer(object, p.names["{"+want.NewerThan+".version}"]))
	}
	if want.Names != nil {
		all = append(all, compareNames(object, want.Names))
	}
	return errors.Join(all...)
}

func newer(object runtime.Object, than string) error {
	m, err := meta.CommonAccessor(object)
	if err != nil {
		return err
	}
	got, err := strconv.ParseUint(m.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	old, err := strconv.ParseUint(than, 10, 64)
	if err != nil {
		return err
	}
	if got <= old {
		return fmt.Errorf("has the version %d, want a newer one than %d", got, old)
	}
	return nil
}

func compareNames(list runtime.Object, want []string) error {
	got := []string{}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		m, err := meta.Accessor(item)
		if err == nil {
			got = append(got, m.GetName())
		}
		return err
	})
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("lists %q, want %q", got, want)
	}
	return err
}

func (p *player) compareFields(object runtime.Object, want Fields) error {
	document, err := asDocument(object)
	if err != nil {
		return err
	}
	var all []error
	for _, path := range slices.Sorted(maps.Keys(want)) {
		value := want[path]
		if text, ok := value.(string); ok {
			value = p.expand(text)
		}
		got := lookUp(document, strings.Split(path, "."))
		if value == Present && got != nil || sameValue(got, value) {
			continue
		}
		all = append(all, fmt.Errorf("has %v as %s, want %v", got, path, value))
	}
	return errors.Join(all...)
}

func asDocument(object runtime.Object) (any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var document any
	err = json.Unmarshal(text, &document)
	return document, err
}

// lookUp returns what is at a path, nil for nothing. Keys with a dot are not
// supported.
func lookUp(document any, path []string) any {
	for _, name := range path {
		switch at := document.(type) {
		case map[string]any:
			document = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			document = at[i]
		default:
			return nil
		}
	}
	return document
}

// sameValue compares a value of a document with one of the table, in which
// numbers are written as int.
func sameValue(got, want any) bool {
	if n, ok := want.(int); ok {
		want = float64(n)
	}
	return reflect.DeepEqual(got, want)
}

// playWatch opens a watch, compares its first events and closes it.
func (p *player) playWatch(ctx context.Context, call Call, want Answer) error {
	w, err := p.server.watch(ctx, call)
	if err != nil || want.Code != 0 {
		if err == nil {
			w.Stop()
		}
		return compareStatus(err, want)
	}
	defer w.Stop()
	for i, event := range want.Events {
		select {
		case got, open := <-w.ResultChan():
			if !open {
				return fmt.Errorf("the watch ends before its event %d", i+1)
			}
			if err := p.compareEvent(got.Object, string(got.Type), event); err != nil {
				return fmt.Errorf("event %d: %w", i+1, err)
			}
		case <-ctx.Done():
			return fmt.Errorf("no event %d: %w", i+1, ctx.Err())
		}
	}
	return nil
}

func (p *player) compareEvent(object runtime.Object, kind string, want Event) error {
	if kind != string(want.Type) {
		return fmt.Errorf("is %s of %v, want %s", kind, object, want.Type)
	}
	if want.Code != 0 {
		status, ok := object.(*metav1.Status)
		if !ok || status.Code != want.Code {
			return fmt.Errorf("is %v, want the code %d", object, want.Code)
		}
		return nil
	}
	return p.compareFields(object, want.Fields)
}
