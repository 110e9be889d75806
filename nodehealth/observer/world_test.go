package observer

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A world is a cluster in virtual time, as an informer and the API server show
// it to a Tracker.
type world struct {
	*Tracker
	t        *testing.T
	now      time.Time
	beats    int
	versions map[string]string // of the leases that the API server has
	told     []Change
	read     [][]string
	// answer returns the result of a read. Nil means that of the API server.
	answer func(Task) Result
}

// newWorld returns a world whose nodes beat once. Their zone is what precedes
// the dash in their name, and the defaults of Health are an Observer's.
func newWorld(t *testing.T, config TrackerConfig, names ...string) *world {
	t.Helper()
	w := &world{
		t: t, now: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
		versions: make(map[string]string),
	}
	if config.ZoneOf == nil {
		config.ZoneOf = zoneOfName
	}
	config.Health = Config{Health: config.Health}.tracker().Health
	var err error
	w.Tracker, err = NewTracker(config, w.now)
	require.NoError(t, err)
	for _, name := range names {
		w.ObserveNode(w.now, nodeOf(name, corev1.ConditionTrue))
	}
	w.MarkSynced(w.now)
	w.beat(names...)
	w.work()
	return w
}

func zoneOfName(node *corev1.Node) string {
	name, _, _ := strings.Cut(node.Name, "-")
	return name
}

func nodeOf(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid")},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: ready},
		}},
	}
}

func leaseOf(name string, renewed time.Time, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: corev1.NamespaceNodeLease, Name: name, ResourceVersion: version,
		},
		Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: renewed}},
	}
}

// renew has nodes renew their leases, which the watch does not show.
func (w *world) renew(names ...string) {
	for _, name := range names {
		w.beats++
		w.versions[name] = strconv.Itoa(w.beats)
	}
}

// beat has nodes renew their leases, which the watch shows.
func (w *world) beat(names ...string) (poll bool) {
	w.renew(names...)
	for _, name := range names {
		poll = w.ObserveLease(w.now, leaseOf(name, w.now, w.versions[name])) || poll
	}
	return poll
}

// work does what a Dispatcher does at one moment.
func (w *world) work() {
	for task, ok := w.Start(w.now); ok; task, ok = w.Start(w.now) {
		w.Finish(w.now, task, w.perform(task))
	}
}

func (w *world) perform(task Task) Result {
	if task.Action == ActionTell {
		w.told = append(w.told, task.Change)
		return Result{}
	}
	w.read = append(w.read, task.Nodes)
	if w.answer != nil {
		return w.answer(task)
	}
	return Result{Versions: w.versions}
}

// pass lets time pass in which nodes beat every ten seconds.
func (w *world) pass(d time.Duration, living ...string) {
	for end := w.now.Add(d); w.now.Before(end); {
		if w.now = w.now.Add(time.Second); w.now.Second()%10 == 0 {
			w.beat(living...)
		}
		w.work()
	}
}

func (w *world) silent() []string { return slices.Sorted(w.View().SilentNodes()) }
