package revision_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/revision"
)

// A recordedWorld is a set with its revisions and pods, as a plan changes them.
type recordedWorld struct {
	*rand.Rand
	t         *testing.T
	seed      uint64
	set       *appsv1.DaemonSet
	revisions map[string]*appsv1.ControllerRevision
	pods      map[string]*corev1.Pod
	image     map[string]string // of each pod, which a wrong label does not change
	made      int
}

func newRecordedWorld(t *testing.T, seed uint64) *recordedWorld {
	w := &recordedWorld{
		Rand: rand.New(rand.NewPCG(seed, 5)), t: t, seed: seed, set: shippers("shipper:0"),
		revisions: map[string]*appsv1.ControllerRevision{}, pods: map[string]*corev1.Pod{},
		image: map[string]string{},
	}
	limit := w.Int32N(4)
	w.set.Spec.RevisionHistoryLimit = &limit
	for range w.IntN(8) {
		w.meddle()
	}
	w.set = w.setOf(w.anyImage())
	return w
}

func (w *recordedWorld) anyImage() string { return fmt.Sprintf("shipper:%d", w.IntN(5)) }

func (w *recordedWorld) setOf(image string) *appsv1.DaemonSet {
	set := shippers(image)
	set.Spec.RevisionHistoryLimit = w.set.Spec.RevisionHistoryLimit
	return set
}

// meddle adds a revision and pods of it, as a controller does, or an
// administrator.
func (w *recordedWorld) meddle() {
	w.made++
	image, name := w.anyImage(), ""
	if w.IntN(3) > 0 {
		name = fmt.Sprintf("x%d", w.made)
	}
	record := recorded(w.t, w.setOf(image), w.Int64N(6), name)
	if _, taken := w.revisions[record.Name]; taken {
		return
	}
	hash := record.Labels[hashLabel]
	switch w.IntN(8) {
	case 0:
		delete(record.Labels, hashLabel)
		hash = record.Name
	case 1:
		record.OwnerReferences[0].UID = "another"
	case 2:
		record.DeletionTimestamp = &metav1.Time{Time: metav1.Unix(1, 0).Time}
	}
	w.revisions[record.Name] = record
	for range w.IntN(3) {
		pod := shipper(fmt.Sprintf("p%d", len(w.pods)), hash)
		w.pods[pod.Name], w.image[pod.Name] = pod, image
	}
}

func (w *recordedWorld) plan() revision.Plan {
	// In any order: a cache has none.
	revisions, pods := slices.Collect(maps.Values(w.revisions)), slices.Collect(maps.Values(w.pods))
	plan := compute(w.t, w.set, revisions, pods...)
	slices.Reverse(revisions)
	slices.Reverse(pods)
	require.Equal(w.t, plan, compute(w.t, w.set, revisions, pods...),
		"seed %d: the plan depends on the order", w.seed)
	return plan
}

// apply does steps of a plan; now and then one fails.
func (w *recordedWorld) apply(plan revision.Plan, faults int) {
	fails := func() bool { return faults > 0 && w.IntN(faults) == 0 }
	if plan.Create != nil && !fails() {
		created := plan.Create.DeepCopy()
		created.UID = types.UID("uid of " + created.Name)
		if other, taken := w.revisions[created.Name]; taken {
			require.False(w.t, metav1.IsControlledBy(other, w.set), "seed %d: %s is there", w.seed,
				created.Name)
			delete(w.revisions, created.Name) // its own controller deletes it
		}
		w.revisions[created.Name] = created
	}
	for _, update := range plan.Update {
		if fails() {
			continue
		}
		changed := update.Revision.DeepCopy()
		if update.Label != "" {
			require.NotContains(w.t, changed.Labels, hashLabel)
			changed.Labels[hashLabel] = update.Label
		}
		if update.Number != 0 {
			changed.Revision = update.Number
		}
		w.revisions[changed.Name] = changed
	}
	held := map[string]bool{}
	for _, relabel := range plan.Relabel {
		if held[relabel.From] = held[relabel.From] || fails(); held[relabel.From] {
			continue
		}
		pod := relabel.Pod.DeepCopy()
		require.Equal(w.t, relabel.From, pod.Labels[hashLabel])
		pod.Labels[hashLabel] = relabel.To
		w.pods[pod.Name] = pod
	}
	for _, deletion := range plan.Delete {
		if !fails() && !held[deletion.Revision.Labels[hashLabel]] && !held[deletion.Revision.Name] {
			require.True(w.t, metav1.IsControlledBy(deletion.Revision, w.set),
				"seed %d: deletes what is another's", w.seed)
			delete(w.revisions, deletion.Revision.Name)
		}
	}
}

// complete checks what must hold when there is nothing left to do.
func (w *recordedWorld) complete(plan revision.Plan) {
	data, err := revision.Data(&w.set.Spec.Template)
	require.NoError(w.t, err)
	inUse, limit := map[string]bool{}, int(*w.set.Spec.RevisionHistoryLimit)
	for _, pod := range w.pods {
		inUse[pod.Labels[hashLabel]] = true
	}
	current, old, unused := 0, 0, 0
	for _, record := range w.revisions {
		switch {
		case !metav1.IsControlledBy(record, w.set) || record.DeletionTimestamp != nil:
		case string(record.Data.Raw) == string(data):
			current++
		default:
			old++
			require.Less(w.t, record.Revision, plan.Current.Revision, "seed %d", w.seed)
			require.NotEmpty(w.t, record.Labels[hashLabel], "seed %d", w.seed)
			if !inUse[record.Labels[hashLabel]] {
				unused++
			}
		}
	}
	if plan.Current.DeletionTimestamp == nil {
		require.Equal(w.t, 1, current, "seed %d", w.seed)
	}
	require.LessOrEqual(w.t, unused, limit, "seed %d", w.seed)
	require.True(w.t, unused == 0 || old <= limit, "seed %d: those in use count", w.seed)
	for name, pod := range w.pods {
		if updated := pod.Labels[hashLabel] == plan.Hash; updated {
			require.Equal(w.t, w.set.Spec.Template.Spec.Containers[0].Image, w.image[name],
				"seed %d: an old pod seems updated", w.seed)
		}
	}
}

func TestHistoriesConverge(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(600) {
		w := newRecordedWorld(t, seed)
		for range 4 { // template changes, rollbacks, meddling, with faults between
			w.apply(w.plan(), 1+w.IntN(4))
			w.meddle()
			w.set = w.setOf(w.anyImage())
		}
		before := maps.Clone(w.pods)
		passes := 0
		for plan := w.plan(); !plan.Empty(); plan = w.plan() {
			// One to make the current revision, or to clear up; one for what that
			// brings.
			require.Less(t, passes, 2, "seed %d: not complete, left: %+v", seed, plan)
			count(reached, plan)
			w.apply(plan, 0)
			passes++
		}
		reached[fmt.Sprintf("%d passes", passes)]++
		w.complete(w.plan())
		for name := range before {
			require.Contains(t, w.pods, name)
		}
	}
	for _, what := range []string{"Unlabelled", "Outnumbered", "SameAsCurrent", "BeyondLimit",
		"created", "relabelled", "0 passes", "1 passes"} {
		require.Greater(t, reached[what], 20, "%s: %v", what, reached)
	}
}

func count(reached map[string]int, plan revision.Plan) {
	for _, update := range plan.Update {
		reached[string(update.Reason)]++
	}
	for _, deletion := range plan.Delete {
		reached[string(deletion.Reason)]++
	}
	if len(plan.Relabel) > 0 {
		reached["relabelled"]++
	}
	if plan.Create != nil {
		reached["created"]++
	}
}
