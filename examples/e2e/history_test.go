package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	toolswatch "k8s.io/client-go/tools/watch"
)

// history is every version of every node that the API server has stored, and
// the UIDs that each pod name has had. A witness may miss versions between two
// lists; a history that misses one ends with an error.
type history struct {
	client kubernetes.Interface

	mu    sync.Mutex
	nodes map[string][]nodeVersion
	pods  map[string]map[types.UID]bool
	err   error
}

// nodeVersion is a version of a node that differs from the one before in more
// than its heartbeat.
type nodeVersion struct {
	at      time.Time // when it was seen
	version string
	ready   corev1.ConditionStatus
	taints  []corev1.Taint
}

// newHistory lists nodes and pods and follows them until ctx ends.
func newHistory(ctx context.Context, client kubernetes.Interface) (*history, error) {
	h := &history{
		client: client, nodes: map[string][]nodeVersion{}, pods: map[string]map[types.UID]bool{},
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range nodes.Items {
		h.add(&nodes.Items[i])
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		h.add(&pods.Items[i])
	}
	go h.follow(ctx, nodes.ResourceVersion, watchFunc(client.CoreV1().Nodes().Watch))
	go h.follow(ctx, pods.ResourceVersion, watchFunc(client.CoreV1().Pods("").Watch))
	return h, nil
}

// watchFunc is the method Watch of a client.
type watchFunc func(context.Context, metav1.ListOptions) (watch.Interface, error)

func (f watchFunc) WatchWithContext(
	ctx context.Context, options metav1.ListOptions,
) (watch.Interface, error) {
	return f(ctx, options)
}

// follow takes all that comes after a version. The watch resumes where it
// broke, and fails when the API server does not know that version any more.
func (h *history) follow(ctx context.Context, version string, objects watchFunc) {
	events, err := toolswatch.NewRetryWatcherWithContext(ctx, version, objects)
	if err != nil {
		h.fail(err)
		return
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		switch event.Type {
		case watch.Error:
			h.fail(apierrors.FromObject(event.Object))
		case watch.Added, watch.Modified, watch.Deleted:
			h.mu.Lock()
			h.add(event.Object)
			h.mu.Unlock()
		}
	}
	if ctx.Err() == nil {
		h.fail(errors.New("the watch has ended"))
	}
}

func (h *history) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = errors.Join(h.err, err)
}

func (h *history) add(object any) {
	switch o := object.(type) {
	case *corev1.Node:
		v := nodeVersion{at: time.Now(), version: o.ResourceVersion, taints: o.Spec.Taints}
		for _, condition := range o.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				v.ready = condition.Status
			}
		}
		all := h.nodes[o.Name]
		if n := len(all); n > 0 && all[n-1].ready == v.ready && slices.Equal(all[n-1].marks(), v.marks()) {
			return
		}
		h.nodes[o.Name] = append(all, v)
	case *corev1.Pod:
		if h.pods[o.Name] == nil {
			h.pods[o.Name] = map[types.UID]bool{}
		}
		h.pods[o.Name][o.UID] = true
	}
}

// node returns the versions of a node so far.
func (h *history) node(name string) []nodeVersion {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.nodes[name])
}

// uids returns how many pods had a name.
func (h *history) uids(pod string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pods[pod])
}

// failure returns why the history is not whole, if it is not.
func (h *history) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// marks are the taints of a version in words, sorted: key, effect and time.
func (v nodeVersion) marks() []string {
	var marks []string
	for _, t := range v.taints {
		mark := fmt.Sprintf("%s:%s", t.Key, t.Effect)
		if t.TimeAdded != nil {
			mark += "@" + t.TimeAdded.UTC().Format(time.TimeOnly)
		}
		marks = append(marks, mark)
	}
	slices.Sort(marks)
	return marks
}

// noExecute returns the taint that makes pods leave, nil if there is none.
func (v nodeVersion) noExecute() *corev1.Taint {
	for i := range v.taints {
		if v.taints[i].Effect == corev1.TaintEffectNoExecute {
			return &v.taints[i]
		}
	}
	return nil
}

// noSchedule reports whether the version has the taint of a silent node.
func (v nodeVersion) noSchedule() bool {
	return slices.ContainsFunc(v.taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable && t.Effect == corev1.TaintEffectNoSchedule
	})
}

// span is a time in which a node has one NoExecute taint.
type span struct {
	added    time.Time // TimeAdded
	from, to time.Time // to is zero while it lasts
}

// spans returns the times in which a node has a NoExecute taint. Another key or
// another TimeAdded begins another span.
func spans(versions []nodeVersion) []span {
	var all []span
	var last string
	for _, v := range versions {
		var now string
		taint := v.noExecute()
		if taint != nil {
			now = fmt.Sprintf("%s@%v", taint.Key, taint.TimeAdded)
		}
		if now == last {
			continue
		}
		if last != "" {
			all[len(all)-1].to = v.at
		}
		if taint != nil {
			s := span{from: v.at}
			if taint.TimeAdded != nil {
				s.added = taint.TimeAdded.Time
			}
			all = append(all, s)
		}
		last = now
	}
	return all
}

// flaps counts how often a node's versions in a stretch of time lose what an
// outage has set and its end does not remove. That is the Unknown of Ready, and
// either taint. A taint with another TimeAdded is a flap, too.
func flaps(versions []nodeVersion, from, to time.Time) (conditions, taints int) {
	for i := 1; i < len(versions); i++ {
		before, v := versions[i-1], versions[i]
		if v.at.Before(from) || !v.at.Before(to) {
			continue
		}
		if before.ready == corev1.ConditionUnknown && v.ready != before.ready {
			conditions++
		}
		if before.noSchedule() && !v.noSchedule() {
			taints++
		}
		if was, is := before.noExecute(), v.noExecute(); was != nil &&
			(is == nil || is.Key != was.Key || !is.TimeAdded.Equal(was.TimeAdded)) {
			taints++
		}
	}
	return conditions, taints
}
