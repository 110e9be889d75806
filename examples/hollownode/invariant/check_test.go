package invariant

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	always    = corev1.RestartPolicyAlways
	nothing   = corev1.RestartPolicyNever
	onFailure = corev1.RestartPolicyOnFailure
)

func broken(h *History) []Invariant {
	var list []Invariant
	for _, v := range Check(h) {
		list = append(list, v.Invariant)
	}
	return list
}

// A history in which all is well breaks nothing.
func TestGoodHistoriesBreakNothing(t *testing.T) {
	for name, tell := range map[string]func(*story){
		"a pod runs": func(s *story) { s.running("a", always) },
		"a pod succeeds": func(s *story) {
			pod := newPod("a", nothing)
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 1, 9)
			s.own(10, pod, shown(pod, corev1.PodSucceeded, 0, hasExited("uid-a/main/0")))
		},
		"a pod is deleted": func(s *story) {
			pod := s.running("a", always)
			s.other(100, pod, leaving(pod, 100, 30))
			s.Runs[0].Stopped, s.Runs[0].Ended, s.Runs[0].Lost, s.Runs[0].Code = at(100), at(130), false, killedCode
			pod = leaving(pod, 100, 30)
			over := leaving(shown(pod, corev1.PodFailed, 0, hasExited("uid-a/main/0")), 100, 30)
			s.own(130, pod, over)
			s.own(131, over, nil)
		},
		"a pod whose kubelet knows nothing yet is deleted": func(s *story) {
			pod := newPod("a", always)
			s.other(0, nil, pod)
			s.other(10, pod, leaving(pod, 10, 30))
			s.run(pod, "main", 0, 15, 20)
			s.Faults = []Fault{{What: "late watch", From: at(5), To: at(16)}}
			over := leaving(shown(pod, corev1.PodFailed, 0, hasExited("uid-a/main/0")), 10, 30)
			s.own(21, leaving(pod, 10, 30), over)
			s.own(22, over, nil)
		},
		"a pod is deleted during its pull": func(s *story) {
			pod := newPod("a", always)
			s.other(0, nil, pod)
			s.other(10, pod, leaving(pod, 10, 30))
			s.run(pod, "main", 0, 15, 20)
			s.Runs[0].Planned = at(1)
			over := leaving(shown(pod, corev1.PodFailed, 0, hasExited("uid-a/main/0")), 10, 30)
			s.own(21, leaving(pod, 10, 30), over)
			s.own(22, over, nil)
		},
		"volumes that fail once are waited for": func(s *story) {
			pod := newPod("a", always)
			pod.Annotations[domain+mountFailures] = "1"
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 133, 0)
			s.own(134, pod, shown(pod, corev1.PodRunning, 0, isRunning()))
		},
		"a container crashes twice": func(s *story) {
			pod := newPod("a", always)
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 1, 9).Code = 1
			s.run(pod, "main", 1, 9, 18).Code = 1
			s.run(pod, "main", 2, 28, 0)
			s.own(30, pod, shown(pod, corev1.PodRunning, 2, isRunning()))
		},
		"a static pod runs": func(s *story) { s.static("agent", "1") },
		"a static pod is replaced": func(s *story) {
			_, mirror := s.static("agent", "1")
			s.Runs[0].Stopped, s.Runs[0].Ended, s.Runs[0].Lost = at(100), at(101), false
			s.own(101, mirror, nil)
			s.static("agent", "2")
			s.Manifests[1].At, s.Runs[1].Started, s.Runs[1].Planned = at(100), at(102), at(102)
			for _, change := range s.Changes[len(s.Changes)-2:] {
				change.At, change.By.Decided = at(103), at(103)
			}
		},
	} {
		s := newStory()
		tell(s)
		assert.Empty(t, Check(&s.History), name)
	}
}

// Each invariant is broken by a history that breaks it.
func TestEachInvariantIsBroken(t *testing.T) {
	tested := map[Invariant]bool{}
	for _, test := range []struct {
		want Invariant
		name string
		tell func(*story)
	}{
		{OneSync, "a plan begins during another", func(s *story) {
			s.Overlaps = []Overlap{{Pod: s.running("a", always).UID, At: at(50)}}
		}},
		{OneRun, "a container runs twice at a time", func(s *story) {
			s.run(s.running("a", always), "main", 1, 50, 60)
		}},
		{EndedFirst, "a pod is removed while it runs", func(s *story) {
			pod := s.running("a", always)
			s.other(100, pod, leaving(pod, 100, 30))
			s.own(101, leaving(pod, 100, 30), nil)
		}},
		{EndedFirst, "a mirror is shown as failed while its pod runs", func(s *story) {
			_, mirror := s.static("agent", "1")
			s.own(50, mirror, shown(mirror, corev1.PodFailed, 0, hasExited("static-1/main/0")))
		}},
		{StaysEnded, "a container starts after the final phase", func(s *story) {
			pod := newPod("a", nothing)
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 1, 9)
			s.own(10, pod, shown(pod, corev1.PodSucceeded, 0, hasExited("uid-a/main/0")))
			s.run(pod, "main", 1, 20, 30)
		}},
		{StaysDeleted, "a container starts after the deletion of its pod", func(s *story) {
			pod := newPod("a", always)
			s.other(0, nil, pod)
			s.other(10, pod, leaving(pod, 10, 30))
			s.run(pod, "main", 0, 15, 20)
		}},
		{StaysDeleted, "a container starts after its pod was removed", func(s *story) {
			pod := newPod("a", always)
			s.other(0, nil, pod)
			s.other(10, pod, nil)
			s.run(pod, "main", 0, 15, 20)
		}},
		{EndShown, "a pod is removed before its phase is final", func(s *story) {
			pod := s.running("a", always)
			s.other(100, pod, leaving(pod, 100, 30))
			s.Runs[0].Stopped, s.Runs[0].Ended, s.Runs[0].Lost = at(100), at(110), false
			s.own(111, leaving(pod, 100, 30), nil)
		}},
		{EndShown, "a pod is removed whose container is shown as running", func(s *story) {
			pod := s.running("a", always)
			over := leaving(shown(pod, corev1.PodFailed, 0, isRunning()), 100, 30)
			s.other(100, pod, over)
			s.Runs[0].Stopped, s.Runs[0].Ended, s.Runs[0].Lost = at(100), at(110), false
			s.own(111, over, nil)
		}},
		{InOrder, "a container runs before its volumes are there", func(s *story) {
			pod := newPod("a", always)
			pod.Annotations[domain+mountFailures] = "2"
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 140, 0)
		}},
		{InOrder, "a container runs whose volumes are never there", func(s *story) {
			pod := newPod("a", always)
			pod.Annotations[domain+mountFailures] = "all"
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 140, 0)
		}},
		{WithinPolicy, "a pod restarts that restarts nothing", restarted(nothing, 1)},
		{WithinPolicy, "a container restarts that has succeeded", restarted(onFailure, 0)},
		{BackedOff, "the second crash waits for nothing", func(s *story) {
			pod := newPod("a", always)
			s.other(0, nil, pod)
			for i := range int32(3) {
				s.run(pod, "main", i, 1+int(i), 2+int(i)).Code = 1
			}
		}},
		{InOrder, "a container runs before its init container has ended", func(s *story) {
			pod := newPod("a", always)
			pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
			s.other(0, nil, pod)
			s.run(pod, "init", 0, 1, 10)
			s.run(pod, "main", 0, 5, 0)
		}},
		{InOrder, "a container runs before its volumes are there", func(s *story) {
			pod := newPod("a", always)
			pod.Annotations[domain+mountTime] = "40s"
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 39, 0)
		}},
		{GraceKept, "a container is killed before its grace period is over", func(s *story) {
			pod := s.running("a", always)
			s.other(100, pod, leaving(pod, 100, 30))
			s.Runs[0].Ended, s.Runs[0].Lost, s.Runs[0].Code = at(110), false, killedCode
			s.own(131, leaving(pod, 100, 30), nil)
		}},
		{OneStatic, "two static pods of a name run", func(s *story) {
			s.static("agent", "1")
			s.static("agent", "2")
		}},
		{StaysUp, "a static pod is stopped for no reason", func(s *story) {
			s.static("agent", "1")
			s.Runs[0].Stopped, s.Runs[0].Ended, s.Runs[0].Lost = at(50), at(51), false
		}},
		{WithinCapacity, "three pods run where two fit", func(s *story) {
			for _, name := range []string{"a", "b", "c"} {
				s.running(name, always)
			}
		}},
		{WithinCapacity, "a static pod and two others run where two fit", func(s *story) {
			s.static("agent", "1")
			s.running("a", always)
			s.running("b", always)
		}},
		{WithinCapacity, "two pods request more CPU than there is", func(s *story) {
			for _, name := range []string{"a", "b"} {
				pod := newPod(name, always)
				pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("600m")}
				s.other(0, nil, pod)
				s.run(pod, "main", 0, 1, 0)
			}
		}},
		{Forward, "a final phase is taken back", func(s *story) {
			pod := s.running("a", always)
			failed := shown(pod, corev1.PodFailed, 0, isRunning())
			s.other(50, pod, failed)
			s.own(60, failed, pod)
		}},
		{Forward, "restarts are taken back", func(s *story) {
			pod := s.running("a", always)
			again := shown(pod, corev1.PodRunning, 1, isRunning())
			s.own(50, pod, again)
			s.own(60, again, pod)
		}},
		{Forward, "a run that has ended is shown as one that runs", func(s *story) {
			pod := s.running("a", always)
			ended := shown(pod, corev1.PodRunning, 0, hasExited("uid-a/main/0"))
			s.own(50, pod, ended)
			s.own(60, ended, pod)
		}},
		{Forward, "a container that its policy leaves is shown as another run", func(s *story) {
			pod := s.running("a", nothing)
			ended := shown(pod, corev1.PodRunning, 0, hasExited("uid-a/main/0"))
			s.own(50, pod, ended)
			s.own(60, ended, shown(pod, corev1.PodRunning, 1, isRunning()))
		}},
		{OwnPods, "another node writes", func(s *story) {
			pod := s.running("a", always)
			s.own(50, pod, pod.DeepCopy()).Node = "other"
		}},
		{OwnPods, "a pod is removed that was to stay", func(s *story) { s.own(50, s.running("a", always), nil) }},
		{OwnPods, "a mirror is removed that was to stay", func(s *story) {
			_, mirror := s.static("agent", "1")
			s.own(50, mirror, nil)
		}},
		{OwnPods, "a kubelet creates a pod", func(s *story) { s.own(50, nil, newPod("a", always)) }},
		{PhaseTrue, "a pod is shown as failed that has succeeded", ended(corev1.PodFailed, 0)},
		{PhaseTrue, "a pod is shown as succeeded that has failed", ended(corev1.PodSucceeded, 1)},
		{ReadyTrue, "a container is shown as ready before its probe can say so", func(s *story) {
			pod := newPod("a", always)
			pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
			pod.Annotations["main."+domain+readyTime] = "30s"
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 1, 0)
			s.own(20, pod, shown(pod, corev1.PodRunning, 0, isRunning()))
		}},
		{ReadyInTime, "a pod is shown as ready a minute late", func(s *story) {
			pod := newPod("a", always)
			s.other(0, nil, pod)
			s.run(pod, "main", 0, 1, 0)
			s.own(60, pod, shown(pod, corev1.PodRunning, 0, isRunning()))
		}},
		{Finished, "a deleted pod is still there", func(s *story) {
			pod := s.running("a", always)
			s.other(100, pod, leaving(pod, 100, 30))
		}},
		{Finished, "a container runs whose pod is gone", func(s *story) { s.other(100, s.running("a", always), nil) }},
		{Finished, "a static pod runs without its manifest", func(s *story) {
			_, mirror := s.static("agent", "1")
			s.Manifests = append(s.Manifests, Manifests{At: at(50)})
			s.own(60, mirror, nil)
		}},
		{Started, "a pod never starts", func(s *story) { s.other(0, nil, newPod("a", always)) }},
		{Started, "a mirror stays failed", func(s *story) {
			_, mirror := s.static("agent", "1")
			s.other(50, mirror, shown(mirror, corev1.PodFailed, 0, isRunning()))
		}},
		{StatusConverged, "a container does not run, and is shown so", func(s *story) {
			s.running("a", nothing)
			s.Runs[0].Ended, s.Runs[0].Lost = at(50), false
		}},
		{StatusConverged, "a node works, and is not shown so", func(s *story) {
			node := s.Changes[0].After.(*corev1.Node)
			node.Status.Conditions = nil
		}},
		{MirrorShown, "a static pod has no mirror", func(s *story) {
			s.static("agent", "1")
			s.Changes = s.Changes[:1]
		}},
		{MirrorShown, "a mirror is there without a static pod", func(s *story) {
			s.static("agent", "1")
			s.Manifests = append(s.Manifests, Manifests{At: at(50)})
		}},
		{Quiet, "a pod is written to which nothing happens", func(s *story) {
			pod := s.running("a", always)
			s.own(int(time.Hour/time.Second)-60, pod, pod.DeepCopy())
		}},
	} {
		s := newStory()
		test.tell(s)
		if !slices.Contains(broken(&s.History), test.want) {
			t.Errorf("%s: %s is not broken, but %v", test.name, test.want, Check(&s.History))
		}
		tested[test.want] = true
	}
	for _, what := range []Invariant{
		OneSync, OneRun, EndedFirst, StaysEnded, StaysDeleted, WithinPolicy, BackedOff, InOrder, GraceKept, OneStatic,
		StaysUp, WithinCapacity, Forward, OwnPods, EndShown, PhaseTrue, ReadyTrue, ReadyInTime, Finished, Started,
		StatusConverged, MirrorShown, Quiet,
	} {
		assert.True(t, tested[what], "no history breaks %s", what)
	}
}

// restarted is a pod whose container ends with a code and starts again.
func restarted(policy corev1.RestartPolicy, code int32) func(*story) {
	return func(s *story) {
		pod := newPod("a", policy)
		s.other(0, nil, pod)
		s.run(pod, "main", 0, 1, 9).Code = code
		s.run(pod, "main", 1, 9, 0)
	}
}

// ended is a pod that ends with a code, and is shown in a phase.
func ended(phase corev1.PodPhase, code int32) func(*story) {
	return func(s *story) {
		pod := newPod("a", nothing)
		s.other(0, nil, pod)
		s.run(pod, "main", 0, 1, 9).Code = code
		s.own(10, pod, shown(pod, phase, 0, hasExited("uid-a/main/0")))
	}
}

// What is wrong with a node excuses a late status, and only for that time.
func TestAFaultExcusesOnlyItsTime(t *testing.T) {
	late := func(fault Fault) []Invariant {
		s := newStory()
		pod := newPod("a", always)
		s.other(0, nil, pod)
		s.run(pod, "main", 0, 1, 0)
		s.own(60, pod, shown(pod, corev1.PodRunning, 0, isRunning()))
		s.Faults = []Fault{fault}
		return broken(&s.History)
	}
	assert.Empty(t, late(Fault{Node: "node", What: "silent", From: at(0), To: at(55)}))
	assert.Empty(t, late(Fault{What: "errors", From: at(0), To: at(55)}), "one of all nodes")
	assert.Contains(t, late(Fault{Node: "node", What: "silent", From: at(0), To: at(30)}), ReadyInTime)
	assert.Contains(t, late(Fault{Node: "other", What: "silent", From: at(0), To: at(55)}), ReadyInTime)
	assert.Contains(t, late(Fault{Node: "node", What: "memory-pressure", From: at(0), To: at(55)}), ReadyInTime)
}
