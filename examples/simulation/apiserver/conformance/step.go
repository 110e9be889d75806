package conformance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Resource is the plural name of a kind of objects.
type Resource string

// Resources that the table writes and reads.
const (
	ResourceNodes   Resource = "nodes"
	ResourcePods    Resource = "pods"
	ResourceLeases  Resource = "leases"
	ResourceBudgets Resource = "poddisruptionbudgets"
)

// Verb is what a call asks for.
type Verb string

// Verbs of calls.
const (
	VerbGet    Verb = "get"
	VerbList   Verb = "list"
	VerbWatch  Verb = "watch"
	VerbCreate Verb = "create"
	VerbUpdate Verb = "update"
	VerbPatch  Verb = "patch"
	VerbDelete Verb = "delete"
	VerbBind   Verb = "bind"
	VerbEvict  Verb = "evict"
)

// Call is one request.
type Call struct {
	Verb     Verb
	Resource Resource
	// Subresource is "status", or empty for the resource itself.
	Subresource string
	// Name is that of the object. A list and a watch have none.
	Name string
	// PatchType is the type of a patch.
	PatchType types.PatchType
	// Body is JSON: an object, a patch, a Binding, an Eviction, or the options of
	// a delete, a list or a watch. Empty stands for {}.
	Body string
	// DryRun asks the server to store nothing.
	DryRun bool
}

// Cause is one cause in the details of a refusal.
type Cause struct {
	Type  metav1.CauseType
	Field string
}

// Event is one event of a watch.
type Event struct {
	Type watch.EventType
	// Code is that of the Status in an error.
	Code   int32
	Fields Fields
}

// Fields maps paths in the JSON of an object, such as "metadata.labels.a" and
// "status.conditions.0.type", to the values there. nil stands for a missing
// field, Present for any value.
type Fields map[string]any

// Present matches each value that is there.
const Present = "{present}"

// Answer is what a server answers. The zero value is success with an object of
// which nothing is compared.
type Answer struct {
	// Code, Reason and Causes are those of the Status. Code zero is success.
	Code   int32
	Reason metav1.StatusReason
	Causes []Cause
	// RetryAfter is when a refusal says to ask again, in seconds.
	RetryAfter int32
	// Fields are compared with the object, or with the list.
	Fields Fields
	// NewerThan names a kept object whose version the answer must exceed.
	NewerThan string
	// Names are those of the objects of a list, in order; nil compares none.
	Names []string
	// Events are the first ones of a watch.
	Events []Event
}

// Step is a call and its answer.
type Step struct {
	// About says what the step shows. It is the name under which a difference is
	// reported.
	About string
	Call  Call
	Want  Answer
	// Keep names the object of the answer for later steps.
	Keep string
}

// Case is a list of steps that depend on each other.
type Case struct {
	Name  string
	Steps []Step
}

// Cases returns the table.
func Cases() []Case {
	var all []Case
	for _, some := range [][]Case{
		writes(), patches(), deletions(), bindings(), evictions(), reads(),
	} {
		all = append(all, some...)
	}
	return all
}
