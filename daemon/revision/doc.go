// Package revision keeps the history of a pod template in ControllerRevisions.
// It decides which revision is the current one, which are duplicates or too
// old, and what a rollback returns to. The owner is of any kind that has a pod
// template.
//
// A revision keeps a template as the bytes that kube-controller-manager writes,
// under the name and number that it gives. Taking over from it, or handing
// back, restarts no pod.
//
// # One pass
//
// [Compute] decides, and a [Manager] applies what it says. [Result.Hash] is the
// hash that new pods carry:
//
//	plan, err := revision.Compute(revision.Source{
//		Owner: owner, Template: &set.Spec.Template,
//		Collisions: set.Status.CollisionCount, Limit: set.Spec.RevisionHistoryLimit,
//	}, revisions, slices.Values(pods))
//	result, err := manager.Apply(ctx, plan)
//	hash := result.Hash()
//
// [ComputeRollback] finds a former revision and the patch that returns the
// owner to its template. [Data], [Hash], [New] and [Template] are the parts for
// other uses.
//
// # The caller's duties
//
//   - Claim revisions and pods first, with package ownership, and pass those
//     that are owned.
//   - Pass the newest objects that are known: those of the cache, and those of
//     a [Result] until the cache shows them. Package timedqueue/feed does that
//     for informers.
//   - Pass nil for the pods until all of them are known. A revision whose pods
//     are missing is deleted.
//   - Build with a k8s.io/api that is not older than the cluster. An older one
//     drops the fields that it does not know from template and revision.
//   - After [ErrHashCollision], compute from the owner's new collision count.
//     After [ErrStale], wait for the caches. Back off in both cases.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1; numbers are those of its issues:
//
//   - A revision that another version of Kubernetes has written with other
//     bytes is the current one, unless one with the same bytes exists. There
//     all pods restart (#134773).
//   - Pods of a duplicate get the hash of the current revision. There all pods
//     of the set do, also outdated ones, which are never updated then
//     (#111280).
//   - A revision of the name with the same data is a collision if an owner of
//     another UID has it. There it is the current one, until it is collected.
package revision
