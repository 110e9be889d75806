package controlplane

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

func TestFilterSelects(t *testing.T) {
	at := time.Unix(1000, 0)
	request := Request{
		Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "shop", Name: "cart",
		User: "alice", UserAgent: "nodelifecycle/v1 (linux/amd64)", Received: at,
	}
	for _, test := range []struct {
		name   string
		filter Filter
		want   bool
	}{
		{"the zero filter", Filter{}, true},
		{"all that is known", Filter{"nodelifecycle", "alice", "patch", "pods/status", "shop", "cart", at}, true},
		{"the whole user agent", Filter{UserAgent: request.UserAgent}, true},
		{"the middle of the user agent", Filter{UserAgent: "lifecycle"}, false},
		{"another user", Filter{User: "alic"}, false},
		{"another verb", Filter{Verb: "get"}, false},
		{"any resource", Filter{Resource: "*"}, true},
		{"the object and not its subresource", Filter{Resource: "pods"}, false},
		{"another subresource", Filter{Resource: "pods/eviction"}, false},
		{"another namespace", Filter{Namespace: "default"}, false},
		{"another name", Filter{Name: "car"}, false},
		{"later ones", Filter{Since: at.Add(time.Microsecond)}, false},
		{"earlier ones too", Filter{Since: at.Add(-time.Microsecond)}, true},
	} {
		if got := test.filter.Matches(request); got != test.want {
			t.Errorf("%s: got %t", test.name, got)
		}
	}
	if (Filter{Resource: "*"}).Matches(Request{URI: "/readyz", Verb: "get"}) {
		t.Error("a request for no resource is for any resource")
	}
}

func TestRequestsAreCountedByObject(t *testing.T) {
	got := CountBy([]Request{
		{Resource: "nodes", Name: "n1"},
		{Resource: "nodes", Name: "n1"},
		{Resource: "pods", Namespace: "shop", Name: "n1"},
		{Resource: "namespaces", Namespace: "shop", Name: "shop"},
	}, Request.Object)
	want := map[string]int{"n1": 2, "shop/n1": 1, "shop": 1}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func ExampleFilter() {
	evicted := Filter{UserAgent: "nodelifecycle", Verb: "delete", Resource: "pods"}
	requests := []Request{
		{UserAgent: "nodelifecycle/v1.0.0", Verb: "delete", Resource: "pods", Namespace: "shop", Name: "cart"},
		{UserAgent: "nodelifecycle/v1.0.0", Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "shop",
			Name: "cart"},
		{UserAgent: "kubectl/v1.37.1", Verb: "delete", Resource: "pods", Namespace: "shop", Name: "till"},
	}
	for _, request := range requests {
		fmt.Println(request.Object(), evicted.Matches(request))
	}
	// Output:
	// shop/cart true
	// shop/cart false
	// shop/till false
}
