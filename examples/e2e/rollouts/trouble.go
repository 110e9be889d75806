package rollouts

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

const (
	// many is how many sets there are at a time.
	many    = 50
	fewZone = "few"
	// held is how long a rollout is watched that cannot go on.
	held = 20 * time.Second
	// atRest is the step in which nothing happens.
	atRest = "a minute at rest"
	// mostTimes is how much of a row ours may have in relation to upstream.
	mostTimes = 1.1
	// fewCalls are so few that their ratio means nothing.
	fewCalls = 10

	unavailable, surge = `{"maxUnavailable":"10%","maxSurge":0}`, `{"maxUnavailable":0,"maxSurge":"10%"}`
)

// troubles are the turns of the scenario trouble. Each begins with a process that
// has nothing in mind.
func (p *play) troubles() []turn {
	turns := []turn{{
		steps: []step{
			{title: fmt.Sprintf("create on %d nodes", p.nodes), act: p.create},
			{title: atRest, act: func(context.Context) error { return nil }, held: time.Minute},
		},
	}, {
		before: p.orphan,
		steps:  []step{{title: fmt.Sprintf("adopt %d orphans", p.nodes), act: p.create}},
	}, {
		steps: []step{{
			title: "roll out, kube-apiserver killed and started midway",
			act:   p.change(2, unavailable), middle: p.isQuarter, fault: p.restartAPIServer,
		}},
	}, {
		args:  []string{"--kube-api-qps=20", "--kube-api-burst=30"},
		steps: []step{{title: "roll out with 20 calls a second", act: p.change(3, unavailable)}},
	}, {
		steps: []step{{
			title: fmt.Sprintf("create %d sets on %d nodes", many, len(p.few())), act: p.createMany, goal: p.manyHave(1),
		}, {
			title: fmt.Sprintf("roll out %d sets", many), act: p.changeMany, goal: p.manyHave(2),
		}},
	}, {
		steps: []step{{title: "a rollout that cannot go on: maxSurge, hostPort", act: p.change(4, surge), held: held}},
	}, {
		steps: []step{{title: "a rollout that cannot go on: no valid affinity", act: p.breakAffinity, held: held}},
	}}
	for i := range turns {
		turns[i].subject = p.Subject
	}
	return turns
}

// addTrouble adds the rows of a step. Of one that cannot go on they are whether it
// keeps the pods, and what the Events say.
func (p *play) addTrouble(ctx context.Context, s step, took time.Duration, costs sidebyside.Costs) error {
	switch {
	case s.title == atRest:
		p.steps.Add(s.title+": CPU time", sidebyside.Seconds, costs.CPU.Seconds())
	case s.held == 0:
		p.steps.Add(s.title, sidebyside.Seconds, took.Seconds()).NoMoreThan(mostTimes)
	default:
		if err := p.addHeld(ctx, s, time.Now().Add(-took-quiet)); err != nil {
			return err
		}
	}
	for _, row := range []struct {
		what string
		is   func(controlplane.Request) bool
	}{
		{"writes of a status", func(r controlplane.Request) bool { return r.FullResource() == "daemonsets/status" }},
		{"GETs", func(r controlplane.Request) bool { return r.Verb == "get" }},
		{"API calls", isNotAboutEvents},
	} {
		calls := costs.CallsThat(row.is)
		added := p.steps.Add(s.title+": "+row.what, sidebyside.Count, calls)
		if calls > fewCalls {
			added.NoMoreThan(mostTimes)
		}
	}
	return nil
}

func (p *play) addHeld(ctx context.Context, s step, begun time.Time) error {
	now, err := p.snapshot(ctx)
	if err != nil {
		return err
	}
	lost := p.nodes
	for i := range now.pods {
		if pod := &now.pods[i]; pod.Labels[fleet.AppLabel] == setName && fleet.IsReady(pod) {
			lost--
		}
	}
	warnings, err := p.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "type=Warning,involvedObject.kind=DaemonSet,involvedObject.name=" + setName,
	})
	if err != nil {
		return err
	}
	before := len(p.steps.Told)
	for i := range warnings.Items {
		if w := &warnings.Items[i]; !w.CreationTimestamp.Time.Before(begun.Truncate(time.Second)) {
			p.steps.Told = append(p.steps.Told, w.Reason+": "+w.Message)
		}
	}
	p.steps.Add(s.title+": pods lost", sidebyside.Count, float64(lost)).AtMost(0)
	p.steps.Add(s.title+": Events that warn", sidebyside.Count, float64(len(p.steps.Told)-before))
	return nil
}

// breakAffinity gives the set a node affinity whose only term the API server
// accepts and no controller understands.
func (p *play) breakAffinity(ctx context.Context) error {
	patch := []byte(`{"spec":{"updateStrategy":{"rollingUpdate":` + unavailable + `},` +
		`"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":` +
		`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"cores","operator":"Gt","values":["many"]}]}]}}}}}}}`)
	_, err := p.Client.AppsV1().DaemonSets(namespace).
		Patch(ctx, setName, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// orphan deletes the set and leaves its pods and revisions, as
// kube-controller-manager's garbage collector does with --cascade=orphan.
func (p *play) orphan(ctx context.Context) error {
	s, err := p.snapshot(ctx)
	if err != nil {
		return err
	}
	apps := p.Client.AppsV1()
	free := []byte(`{"metadata":{"ownerReferences":null,"finalizers":null}}`)
	return sidebyside.InOrder(
		func(ctx context.Context) error {
			return apps.DaemonSets(namespace).Delete(ctx, setName,
				metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
		},
		sidebyside.ToEach(s.revisions, func(ctx context.Context, revision appsv1.ControllerRevision) error {
			_, err := apps.ControllerRevisions(namespace).
				Patch(ctx, revision.Name, types.MergePatchType, free, metav1.PatchOptions{})
			return err
		}),
		sidebyside.ToEach(s.pods, func(ctx context.Context, pod corev1.Pod) error {
			_, err := p.Client.CoreV1().Pods(namespace).
				Patch(ctx, pod.Name, types.MergePatchType, free, metav1.PatchOptions{})
			return err
		}),
		func(ctx context.Context) error {
			_, err := apps.DaemonSets(namespace).
				Patch(ctx, setName, types.MergePatchType, free, metav1.PatchOptions{})
			return err
		},
	)(ctx)
}

func (p *play) restartAPIServer(ctx context.Context) error {
	return errors.Join(p.Plane.RestartAPIServer(ctx), p.watch(ctx))
}

// few are the nodes that each of many sets selects, which have a zone of their
// own.
func (p *play) few() []string { return names(fewZone, p.nodes/10) }

func setNames() []string { return names("many", many) }

func (p *play) createMany(ctx context.Context) error {
	return sidebyside.ToEach(setNames(), func(ctx context.Context, name string) error {
		set := p.newSet(name)
		set.Spec.Template.Spec.NodeSelector[corev1.LabelTopologyZone] = fewZone
		_, err := p.Client.AppsV1().DaemonSets(namespace).Create(ctx, set, metav1.CreateOptions{})
		return err
	})(ctx)
}

func (p *play) changeMany(ctx context.Context) error {
	return sidebyside.ToEach(setNames(), func(ctx context.Context, name string) error {
		_, err := p.patch(ctx, name, 2, unavailable)
		return err
	})(ctx)
}

// manyHave returns what is missing until each of many sets has a ready pod of a
// version on each of its nodes, and says so.
func (p *play) manyHave(version int) func(*appsv1.DaemonSet, []*corev1.Pod) error {
	nodes := map[string]corev1.TaintEffect{}
	for _, name := range p.few() {
		nodes[name] = ""
	}
	return func(_ *appsv1.DaemonSet, pods []*corev1.Pod) error {
		bySet := map[string][]*corev1.Pod{}
		for _, pod := range pods {
			bySet[pod.Labels["app"]] = append(bySet[pod.Labels["app"]], pod)
		}
		for _, name := range setNames() {
			set, err := p.sets.Get(name)
			if err != nil {
				return err
			}
			wanted := goal{image: image(version), generation: int64(version), nodes: nodes}
			if err := wanted.missing(set, bySet[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
}
