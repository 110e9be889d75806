package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/status"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const lifeWorlds = 120

// Of pods that live and end, the API shows the same after each write of the
// fleet and of upstream's status manager, which is given each status with its
// phase. A final phase waits for the containers, and is never taken back. The
// final deletion waits for the end of the pod.
func TestTheAPIShowsWhatTheKubeletsStatusManagerWrites(t *testing.T) {
	reached := reached{}
	theirs := newStatusManager(t)
	for seed := range seeds(lifeWorlds) {
		l := throw(seed).podLife(t, theirs, seed, reached)
		l.run(10 * time.Minute)
		if l.pod != nil {
			reached.count("ends as %s", l.pod.Status.Phase)
		}
	}
	reached.require(t, floors{
		"written": 400, "withheld": 8, "final": 80, "deleted": 25, "final phase by another client": 25,
		"condition by another client": 25,
	})
}

// statusManager is upstream's, with the API server that it writes to.
type statusManager struct {
	status.Manager

	t       *testing.T
	client  *fake.Clientset
	pods    map[types.UID]*corev1.Pod
	running map[types.UID]bool
	rounds  int
}

// sentinel is a pod whose writes tell that the manager is done with others.
const sentinel = "sentinel"

// newStatusManager starts upstream's manager. Its loop ends with the process.
func newStatusManager(t *testing.T) *statusManager {
	m := &statusManager{
		t: t, client: fake.NewClientset(), pods: map[types.UID]*corev1.Pod{}, running: map[types.UID]bool{},
	}
	m.Manager = status.NewManager(m.client, m, m, m)
	m.Start(t.Context())
	m.add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: sentinel, UID: sentinel}})
	return m
}

func (m *statusManager) add(pod *corev1.Pod) {
	m.pods[pod.UID] = pod
	_, err := m.client.CoreV1().Pods("ns").Create(m.t.Context(), pod, metav1.CreateOptions{})
	require.NoError(m.t, err)
}

// get returns a pod as the API shows it, or nil.
func (m *statusManager) get(name string) *corev1.Pod {
	pod, err := m.client.CoreV1().Pods("ns").Get(m.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(m.t, err)
	return pod
}

// rest waits until the manager has written all that it was told. A second round
// begins after the first has ended, and writes one pod after another.
func (m *statusManager) rest() {
	for range 2 {
		m.rounds++
		message := fmt.Sprint("round ", m.rounds)
		m.SetPodStatus(klog.Background(), m.pods[sentinel], corev1.PodStatus{Phase: corev1.PodRunning, Message: message})
		require.Eventually(m.t, func() bool { return m.get(sentinel).Status.Message == message },
			time.Minute, 100*time.Microsecond)
	}
}

// GetPodByUID and the next three make it the manager's list of pods.
func (m *statusManager) GetPodByUID(uid types.UID) (*corev1.Pod, bool) {
	pod, found := m.pods[uid]
	return pod, found
}

func (*statusManager) GetMirrorPodByPod(*corev1.Pod) (*corev1.Pod, bool) { return nil, false }

func (*statusManager) TranslatePodUID(uid types.UID) kubetypes.ResolvedPodUID {
	return kubetypes.ResolvedPodUID(uid)
}

func (*statusManager) GetUIDTranslations() (
	map[kubetypes.ResolvedPodUID]kubetypes.MirrorPodUID, map[kubetypes.MirrorPodUID]kubetypes.ResolvedPodUID,
) {
	return nil, nil
}

// PodCouldHaveRunningContainers makes it what knows of containers.
func (m *statusManager) PodCouldHaveRunningContainers(pod *corev1.Pod) bool {
	return m.running[pod.UID]
}

// RecordStatusUpdated and DeletePodStartupState record nothing.
func (*statusManager) RecordStatusUpdated(klog.Logger, *corev1.Pod) {}
func (*statusManager) DeletePodStartupState(types.UID)              {}

// podLife is a pod on a node of the fleet, and on upstream's manager.
type podLife struct {
	*testing.T
	dice
	reached

	theirs  *statusManager
	fleet   *kubelet.Fleet
	runtime *cri.Fake
	now     time.Time
	pod     *corev1.Pod // nil when it is gone
	// others is when other clients act, and what they do.
	others []otherClient
}

type otherClient struct {
	at   time.Duration
	what string
	do   func(*corev1.Pod)
}

func (d dice) podLife(t *testing.T, theirs *statusManager, seed uint64, reached reached) *podLife {
	fleet, runtime := fakeFleet(t)
	name := fmt.Sprint("pod-", seed)
	l := &podLife{T: t, dice: d, reached: reached, theirs: theirs, fleet: fleet, runtime: runtime, now: epoch}
	l.pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), Generation: 1, CreationTimestamp: metav1.NewTime(epoch),
			Annotations: map[string]string{cri.AnnotationDomain + "/stop-time": pick(d, "0s", "4s")},
		},
		Spec: corev1.PodSpec{
			NodeName: hollowNode, TerminationGracePeriodSeconds: new(int64(30)),
			RestartPolicy: pick(d, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if d.oneIn(3) {
		l.pod.Spec.ActiveDeadlineSeconds = new(int64(20 + d.IntN(60)))
	}
	for i := range 1 + d.IntN(2) {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i), Image: shownImage}
		if d.oneIn(3) {
			c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 2}
		}
		l.pod.Spec.Containers = append(l.pod.Spec.Containers, c)
		for annotation, value := range map[string]string{
			"run-time": pick(d, "forever", "2s", "30s"), "exit-code": pick(d, "0", "0", "1", "1,0"),
			"ready-time": pick(d, "0s", "7s"), "stop-time": pick(d, "0s", "4s", "20s"),
		} {
			l.pod.Annotations[c.Name+"."+cri.AnnotationDomain+"/"+annotation] = value
		}
	}
	theirs.add(l.pod.DeepCopy())
	fleet.ObservePod(epoch, l.pod)
	for _, other := range []otherClient{
		{what: "final phase", do: l.fail}, {what: "condition", do: l.condition}, {what: "deletion", do: l.terminate},
	} {
		if other.at = time.Duration(d.IntN(120)) * time.Second; d.oneIn(3) {
			l.others = append(l.others, other)
		}
	}
	slices.SortStableFunc(l.others, func(a, b otherClient) int { return cmp.Compare(a.at, b.at) })
	return l
}

// fail shows the pod as failed, as the garbage collector of pods does.
func (*podLife) fail(pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		pod.Status.Phase = corev1.PodFailed
	}
}

// condition adds one that is no kubelet's.
func (*podLife) condition(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue})
}

func (l *podLife) terminate(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: l.now.Add(30 * time.Second)}
	pod.DeletionGracePeriodSeconds = new(int64(30))
}

// run lets a time pass.
func (l *podLife) run(period time.Duration) {
	end := l.now.Add(period)
	for l.pod != nil {
		if task, ok := l.fleet.Start(l.now); ok {
			l.perform(task)
			continue
		}
		next, ok := l.fleet.Next(l.now)
		if len(l.others) > 0 && (!ok || next.After(epoch.Add(l.others[0].at))) {
			l.now = epoch.Add(l.others[0].at)
			l.changeBoth(l.others[0])
			l.others = l.others[1:]
			continue
		}
		if !ok || next.After(end) {
			return
		}
		l.now = next
	}
}

// changeBoth has another client change the pod in both APIs.
func (l *podLife) changeBoth(change otherClient) {
	l.count("%s by another client", change.what)
	l.pod = l.pod.DeepCopy()
	change.do(l.pod)
	after := l.theirs.get(l.pod.Name)
	require.NotNil(l, after, "upstream has not deleted it")
	change.do(after)
	require.NoError(l, l.theirs.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), after, "ns"))
	l.theirs.pods[l.pod.UID] = after
	l.fleet.ObservePod(l.now, l.pod)
}

// perform does a task in our API, has upstream's manager do the same, and
// compares.
func (l *podLife) perform(task kubelet.Task) {
	if task.Pod == nil {
		l.fleet.Finish(l.now, task, kubelet.ResultDone)
		return
	}
	uid := task.Pod.UID
	state, _ := l.runtime.Pod(l.now, uid)
	l.theirs.running[uid] = state.Running()
	theirs := l.theirs.get(task.Pod.Name)
	require.NotNil(l, theirs, "upstream has not deleted it before: %s", task.Kind)
	if task.Kind == kubelet.TaskDeletePod {
		l.count("deleted")
		l.theirs.TerminatePod(klog.Background(), theirs)
		l.theirs.rest()
		require.Nil(l, l.theirs.get(task.Pod.Name), "upstream deletes it too")
		l.pod = nil
		return
	}
	l.count("written")
	wanted := l.unwithheld(&task.Status)
	l.theirs.SetPodStatus(klog.Background(), theirs, *wanted)
	l.theirs.rest()
	l.pod = l.pod.DeepCopy()
	l.pod.Status = task.Status
	l.fleet.Finish(l.now, task, kubelet.ResultDone)
	l.fleet.ObservePod(l.now, l.pod)
	theirs = l.theirs.get(task.Pod.Name)
	require.NotNil(l, theirs, "upstream waits for the end of the pod, too")
	require.Equal(l, inWords(l.pod.Status), inWords(theirs.Status), "%s at %v", l.pod.Name, l.now.Sub(epoch))
}

// unwithheld returns a status with the phase that the kubelet has decided on.
// Its conditions say so.
func (l *podLife) unwithheld(s *corev1.PodStatus) *corev1.PodStatus {
	s = s.DeepCopy()
	final := map[string]corev1.PodPhase{status.PodCompleted: corev1.PodSucceeded, status.PodFailed: corev1.PodFailed}
	for _, c := range s.Conditions {
		phase, ends := final[c.Reason]
		switch {
		case c.Type != corev1.ContainersReady || !ends:
		case s.Phase != phase:
			l.count("withheld")
			s.Phase, s.Reason, s.Message = phase, "Early", "shown too early"
		default:
			l.count("final")
		}
	}
	return s
}

// inWords returns a status in words, without the times at which conditions
// have changed.
func inWords(s corev1.PodStatus) []string {
	words := []string{fmt.Sprintf("%s %s %s", s.Phase, s.Reason, s.Message)}
	for _, c := range s.Conditions {
		words = append(words, fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
	}
	for _, c := range s.ContainerStatuses {
		words = append(words, fmt.Sprintf("%s %d %v %v %v", c.Name, c.RestartCount, c.Ready, c.State, c.LastTerminationState))
	}
	return words
}
