package kubelet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
)

// randomSeeds is how many random worlds a test run plays.
var randomSeeds = seeds.Sized(20, 60)

// In random worlds no final phase and no count of restarts goes back. No
// container runs after the final deletion of its pod, and no policy is broken.
// Nothing is left in the end. The fake runtime panics when two syncs overlap.
func TestRandomWorlds(t *testing.T) {
	for seed := range uint64(randomSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { playRandom(t, seed, nil) })
	}
}

// Whether events are recorded changes nothing else, and the same world has the
// same events.
func TestEventsChangeNothingInRandomWorlds(t *testing.T) {
	for seed := range uint64(randomSeeds / 6) {
		var first, second []Event
		silent := playRandom(t, seed, nil)
		telling := playRandom(t, seed, func(e Event) { first = append(first, e) })
		playRandom(t, seed, func(e Event) { second = append(second, e) })
		require.Equal(t, silent.log, telling.log)
		require.NotEmpty(t, first)
		require.Equal(t, first, second)
	}
}

func playRandom(t *testing.T, seed uint64, record func(Event)) *world {
	random := rand.New(rand.NewPCG(seed, 1))
	nodes := []string{"node-0", "node-1"}
	w := newWorld(t, nodes...)
	w.record = record
	w.static = randomStatic(random)
	w.restart(nodes...)
	down := false
	w.refuse = func(Task) bool { return down || random.IntN(5) == 0 }
	made := 0
	for range 120 {
		switch names := w.names(); random.IntN(13) {
		case 0, 1:
			made++
			w.randomPod(random, fmt.Sprint("pod-", made), nodes[random.IntN(2)])
		case 2:
			if len(names) > 0 {
				w.delete(names[random.IntN(len(names))], random.Int64N(40))
			}
		case 3:
			if len(names) > 0 {
				uid := RuntimeUID(w.pods[names[random.IntN(len(names))]])
				w.runtime.Crash(w.now, uid, "c", int32(random.IntN(3)))
			}
		case 4:
			if len(names) > 0 {
				name := names[random.IntN(len(names))]
				delete(w.pods, name)
				w.fleet.ForgetPod(w.now, name)
			}
		case 5:
			down = !down
		case 6:
			if len(names) > 0 {
				pod := w.pods[names[random.IntN(len(names))]].DeepCopy()
				pod.Spec.Containers[0].Image = fmt.Sprint("image-", random.IntN(3))
				w.observe(pod)
			}
		case 7:
			if random.IntN(4) == 0 {
				w.restart(nodes...)
				for _, name := range w.names() {
					w.observe(w.pods[name])
				}
			} else if random.IntN(2) == 0 {
				w.endProcess(nodes...)
			}
		case 8:
			w.restartKubelet(nodes[random.IntN(2)])
		case 9:
			w.reboot(nodes[random.IntN(2)])
		case 11:
			faults := Faults{
				RuntimeDown: random.IntN(2) == 0, NetworkDown: random.IntN(2) == 0, Silent: random.IntN(3) == 0,
			}
			w.fleet.SetFaults(w.now, nodes[random.IntN(2)], faults)
		case 10:
			if random.IntN(4) == 0 {
				w.shutDown(nodes[random.IntN(2)])
			}
		case 12:
			if random.IntN(2) == 0 {
				w.set(randomStatic(random)...)
			}
		}
		w.run(time.Duration(random.IntN(20_000)) * time.Millisecond)
		w.checkPolicies()
		w.checkStatic(nodes)
	}
	down = false
	for _, name := range nodes {
		w.fleet.SetFaults(w.now, name, Faults{})
	}
	w.refuse = nil
	w.run(20 * time.Minute) // longer than any back-off
	w.checkMirrors(nodes)
	w.set()
	for _, name := range w.names() {
		w.delete(name, random.Int64N(40))
	}
	w.run(time.Hour)
	require.Empty(t, w.pods)
	require.Empty(t, w.fleet.pods)
	require.Empty(t, w.fleet.mirrors)
	for _, name := range nodes {
		require.Empty(t, w.runtime.Pods(w.now, name), "the runtime of %s has pods that none knows", name)
		used := w.fleet.nodes[name].used
		require.Zero(t, used.pods)
		require.Empty(t, used.requests)
		require.Empty(t, used.ports)
	}
	require.Zero(t, w.due())
	return w
}

// names returns the pods that there are, in order.
func (w *world) names() []types.UID {
	var names []types.UID
	for name := range w.pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// shutDown ends a machine for good, with its pods in the API, and starts a new
// one of the same name.
func (w *world) shutDown(name string) {
	node := w.fleet.nodes[name].object
	w.fleet.ForgetNode(w.now, name)
	for _, uid := range w.names() {
		if w.pods[uid].Spec.NodeName == name {
			delete(w.pods, uid)
			w.fleet.ForgetPod(w.now, uid)
		}
	}
	w.fleet.ObserveNode(w.now, node)
}

// randomPod adds a pod of which anything may fail.
func (w *world) randomPod(random *rand.Rand, name, node string) {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	w.pod(name, func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Spec.RestartPolicy = []corev1.RestartPolicy{restart, never, onFailure}[random.IntN(3)]
		if random.IntN(2) == 0 {
			p.Spec.InitContainers = append(p.Spec.InitContainers, container("i", nil))
		}
		if random.IntN(3) == 0 {
			p.Spec.InitContainers = append(p.Spec.InitContainers, container("s", func(c *corev1.Container) {
				c.RestartPolicy = &always
				c.StartupProbe = &corev1.Probe{PeriodSeconds: 1}
			}))
		}
		if random.IntN(2) == 0 {
			p.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 3}
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 2}
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
				PreStop: &corev1.LifecycleHandler{}, PostStart: &corev1.LifecycleHandler{},
			}
		}
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: random.Int32N(3)}}
		if random.IntN(5) == 0 {
			seconds := random.Int64N(100) + 1
			p.Spec.ActiveDeadlineSeconds = &seconds
		}
	},
		"pull-time", pick("0s", "3s"), "pull-failures", pick("0", "2"), "sandbox-failures", pick("0", "1"),
		"run-time", pick("forever", "5s", "1m"), "i:run-time", pick("1s", "9s"), "s:run-time", pick("forever", "20s"),
		"exit-code", pick("0", "1", "1,0"), "i:exit-code", pick("0", "1,0", "1"),
		"stop-time", pick("0s", "2s", "forever"), "pre-stop-time", pick("0s", "5s"),
		"post-start-failures", pick("0", "1"), "start-failures", pick("0", "1"),
		"ready-time", pick("0s", "4s"), "live-time", pick("forever", "30s"), "mount-time", pick("0s", "2s"),
		"unmount-time", pick("0s", "2s"))
}

// checkPolicies requires that a pod with policy Never has not restarted its
// main container. Changes of images restart all, and are left out.
func (w *world) checkPolicies() {
	for _, pod := range w.pods {
		if pod.Spec.RestartPolicy != never || pod.Spec.Containers[0].Image != "image" {
			continue
		}
		state, _ := w.runtime.Pod(w.now, pod.UID)
		if c, found := state.Latest("c"); found && c.Image == "image" {
			require.Zero(w.t, c.Attempt, "%s: policy Never, and it was restarted", pod.Name)
		}
	}
}

// randomStatic returns up to three static pods. Each has one of a few
// definitions, so that former ones come again.
func randomStatic(random *rand.Rand) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, name := range []string{"a", "b", "c"} {
		if random.IntN(3) == 0 {
			continue
		}
		pod := staticPod(name, "run-time", []string{"forever", "20s"}[random.IntN(2)],
			"stop-time", []string{"0s", "4s"}[random.IntN(2)], "unmount-time", []string{"0s", "3s"}[random.IntN(2)])
		pod.Spec.RestartPolicy = []corev1.RestartPolicy{restart, onFailure}[random.IntN(2)]
		pods = append(pods, pod)
	}
	return pods
}

// checkStatic requires that of the static pods of a name on a node one runs at
// most, and that no mirror runs itself. Those that a process which ended has
// left behind are not counted, as the package comment says.
func (w *world) checkStatic(nodes []string) {
	for _, node := range nodes {
		running := map[string]bool{}
		for _, uid := range w.runtime.Pods(w.now, node) {
			require.False(w.t, w.pods[uid] != nil && isMirror(w.pods[uid]), "a mirror has containers")
			state, _ := w.runtime.Pod(w.now, uid)
			if r := w.fleet.pods[uid]; r == nil || r.pod.Name == "" {
				continue // only the runtime has it, and it tells no name
			}
			if name, static := w.runtime.names[uid]; static && state.Running() {
				require.False(w.t, running[name], "two static pods run as %s", name)
				running[name] = true
			}
		}
	}
}

// checkMirrors requires that each node runs the static pods of the manifests,
// and that one mirror of each shows its status. All faults are over.
func (w *world) checkMirrors(nodes []string) {
	shown := 0
	for _, node := range nodes {
		for _, manifest := range w.static {
			shown++
			mirror := w.mirror(manifest.Name, node)
			require.Nil(w.t, mirror.DeletionTimestamp)
			state, found := w.runtime.Pod(w.now, RuntimeUID(mirror))
			if manifest.Spec.RestartPolicy == onFailure && mirror.Status.Phase == corev1.PodSucceeded {
				require.False(w.t, state.Running(), "it has succeeded")
				continue
			}
			require.True(w.t, found, "%s does not run: %s", mirror.Name, describeStatus(&mirror.Status))
			c, _ := state.Latest("c")
			shows := containerStatus(mirror.Status.ContainerStatuses, "c")
			require.Equal(w.t, c.State == cri.StateRunning, shows.State.Running != nil)
			require.Equal(w.t, c.Attempt, shows.RestartCount)
		}
	}
	for _, pod := range w.pods {
		if isMirror(pod) {
			shown--
		}
	}
	require.Zero(w.t, shown, "there are as many mirrors")
}
