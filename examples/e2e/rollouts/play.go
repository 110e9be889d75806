package rollouts

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A play is the script with a controller, or the handover.
type play struct {
	*cluster
	mode  mode
	nodes int

	running *sidebyside.Processes // the controller
	goal    goal
	spoken  string // what kubectl said in the step
	result  result
}

// quiet is how long nothing may happen after a step until its state counts.
// Statuses of ours are at most a second late.
const quiet = 2 * time.Second

// script plays the script.
func (p *play) script(ctx context.Context) (err error) {
	if p.running, err = p.Launch(); err != nil {
		return err
	}
	if err := p.awaitWork(ctx); err != nil {
		return err
	}
	begun := time.Now()
	idle, err := p.running.CPUTime()
	if err != nil {
		return err
	}
	for _, s := range script(p.nodes) {
		done, err := p.step(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		p.result.steps = append(p.result.steps, done)
	}
	used, err := p.running.CPUTime()
	if err != nil {
		return err
	}
	p.result.cpu = used - idle
	p.result.calls, err = p.calls(ctx, begun)
	return err
}

// awaitWork waits until the controller has written the status of a canary, which
// selects no node. The canary is gone afterwards, and so is its revision, which
// nothing here collects.
func (p *play) awaitWork(ctx context.Context) error {
	chosen := map[string]string{"app": "canary"}
	sets := p.Client.AppsV1().DaemonSets(metav1.NamespaceSystem)
	canary, err := sets.Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "canary-"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: chosen},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"example.com/canary": "none"},
					Containers:   []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := p.running.Until(ctx, "the controller to work", func(ctx context.Context) (bool, error) {
		live, err := sets.Get(ctx, canary.Name, metav1.GetOptions{})
		return err == nil && live.Status.ObservedGeneration > 0, err
	}); err != nil {
		return err
	}
	if err := sets.Delete(ctx, canary.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return p.Client.AppsV1().ControllerRevisions(metav1.NamespaceSystem).
		DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// step plays one step, and takes the state that it has come to.
func (p *play) step(ctx context.Context, s step) (stepResult, error) {
	begun := time.Now()
	p.spoken = ""
	if err := s.act(ctx, p); err != nil {
		return stepResult{}, err
	}
	if err := p.awaitGoal(ctx); err != nil {
		return stepResult{}, err
	}
	done := stepResult{name: s.Name, took: time.Since(begun)}
	p.Say("%s: %.1f s", s.Name, done.took.Seconds())
	if err := wait.Pause(ctx, quiet); err != nil {
		return done, err
	}
	snapshot, err := p.snapshot(ctx)
	if err != nil {
		return done, err
	}
	if done.facts, err = snapshot.Facts(); err != nil {
		return done, err
	}
	return done, p.addHistory(ctx, snapshot, done.facts)
}

// addHistory adds what kubectl says.
func (p *play) addHistory(ctx context.Context, snapshot state.Snapshot, facts state.Facts) error {
	facts["kubectl rollout status"] = p.spoken
	said, err := p.kubectl(ctx, "rollout", "history", object)
	if err != nil {
		return err
	}
	facts["kubectl rollout history"] = said
	for i := range snapshot.Revisions {
		revision := fmt.Sprintf("--revision=%d", snapshot.Revisions[i].Revision)
		if said, err = p.kubectl(ctx, "rollout", "history", object, revision); err != nil {
			return err
		}
		facts["kubectl rollout history "+revision] = said
	}
	return nil
}

// reached reports whether a step has come so far, by what the API server has.
type reached func(*appsv1.DaemonSet, []*corev1.Pod) bool

// await asks every few milliseconds, so that a step of a tenth of a second has
// a middle.
func await(ctx context.Context, what string, ask func() (bool, error)) error {
	return wait.Every(ctx, 10*time.Millisecond, what, func(context.Context) (bool, error) { return ask() })
}

// midway waits until a step has come so far, kills the controller and starts
// another. It does nothing in other modes.
func (p *play) midway(ctx context.Context, far reached) error {
	if p.mode != killed {
		return nil
	}
	if err := await(ctx, "the middle", func() (bool, error) {
		if err := p.running.Alive(); err != nil {
			return false, err
		}
		set, pods, err := p.kubelets.seen()
		return err == nil && far(set, pods), nil
	}); err != nil {
		return err
	}
	return p.running.Restart()
}

// errMissed means that a step was over before the controller was killed.
var errMissed = errors.New("the middle was missed")

// untilQuarter is midway when a quarter of the nodes have a pod with the wanted
// image. Of several hundred creations that are under way at a time, a busy
// machine shows the rest at once.
func (p *play) untilQuarter(ctx context.Context) error {
	p.goal.nodes = p.taints()
	there, over := 0, false
	err := p.midway(ctx, func(set *appsv1.DaemonSet, pods []*corev1.Pod) bool {
		there, over = p.updated(pods), p.goal.missing(set, pods) == nil
		return there >= p.nodes/4
	})
	if err != nil || p.mode != killed {
		return err
	}
	p.Say("killed with %d of %d pods", there, p.nodes)
	if over {
		return errMissed
	}
	return nil
}

// updated is how many pods have the wanted image.
func (p *play) updated(pods []*corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if pod.Spec.Containers[0].Image == p.goal.image {
			n++
		}
	}
	return n
}

// inHalves does something to half of the nodes, is midway when that has had an
// effect, and does it to the others.
func (p *play) inHalves(
	ctx context.Context, nodes []string, do func(context.Context, []string) error, effect reached,
) error {
	middle := len(nodes) / 2
	if err := do(ctx, nodes[:middle]); err != nil {
		return err
	}
	if err := p.midway(ctx, effect); err != nil {
		return err
	}
	return do(ctx, nodes[middle:])
}

// followed does something while kubectl waits for the end of the rollout.
func (p *play) followed(ctx context.Context, do func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		said, err := p.kubectl(ctx, "rollout", "status", object, "--timeout="+wait.Patience.String())
		lines := strings.Split(said, "\n")
		p.spoken = lines[len(lines)-1] // the others depend on what it happens to see
		return err
	})
	group.Go(func() error { return do(ctx) })
	return group.Wait()
}

// desired is how many nodes have to have a pod, as the status says.
func (p *play) desired() int32 {
	set, _, err := p.kubelets.seen()
	if err != nil {
		return 0
	}
	return set.Status.DesiredNumberScheduled
}

// awaitGoal waits until nothing is missing.
func (p *play) awaitGoal(ctx context.Context) error {
	p.goal.nodes = p.taints()
	return await(ctx, "the goal", func() (bool, error) {
		if err := p.running.Alive(); err != nil {
			return false, err
		}
		set, pods, err := p.kubelets.seen()
		if err != nil {
			return false, err
		}
		return true, p.goal.missing(set, pods)
	})
}

// object is what kubectl calls the set.
const object = "daemonset/" + setName

// kubectl runs kubectl and returns its output.
func (p *play) kubectl(ctx context.Context, args ...string) (string, error) {
	all := append([]string{
		"--kubeconfig=" + p.Plane.Kubeconfig(), "--cache-dir=" + filepath.Join(p.Plane.Dir(), "kubectl"),
		"--namespace=" + namespace,
	}, args...)
	out, err := exec.CommandContext(ctx, p.kubectlPath, all...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// calls counts the requests of the controller about objects.
func (p *play) calls(ctx context.Context, since time.Time) (map[string]int, error) {
	requests, err := p.Plane.Requests(ctx, controlplane.Filter{
		User: sidebyside.User, Resource: "*", Since: since,
	})
	counts := map[string]int{}
	for _, request := range requests {
		if request.Resource == "events" {
			counts[events]++
		} else {
			counts[request.Verb]++
		}
	}
	return counts, err
}
