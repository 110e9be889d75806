// Package ownership decides which objects belong to an owner, and makes them
// belong to it. The owner is of any kind: a DaemonSet, an OpenKruise set, a
// custom resource. The objects are pods, ControllerRevisions, or others with
// labels and owner references.
//
// [Ownership.Claim] decides about one object, with a reason. It adopts what the
// owner selects and no other controller has. It releases what the owner
// controls and no longer selects:
//
//	own, err := ownership.NewOwnership(ownership.Owner{
//		Object:   set,
//		Kind:     v1.SchemeGroupVersion.WithKind("AgentSet"),
//		Selector: set.Spec.Selector,
//	})
//	claim := own.Claim(pod) // {Adopt, Orphaned}
//
// [ClaimAll] does it for a list, with one patch for each object that changes.
// These are strategic merge patches, which the API server accepts for built-in
// kinds only. For custom resources, the caller must write the result of Claim
// in another way.
//
// # One pass
//
//	claimer, err := ownership.NewClaimer(owner, sets) // the client of the kind
//	claimed, err := ownership.ClaimAll(ctx, claimer, podClient, pods)
//	for _, pod := range slices.Concat(claimed.Adopted, claimed.Released) {
//		podFeed.Wrote(pod) // a feed.Handler of package timedqueue/feed
//	}
//	// claimed.Owned are the owner's pods.
//
// # The caller's duties
//
//   - Use one [Claimer] for all claims of a pass, and another for the next
//     pass. It reads the owner at most once, before the first adoption.
//   - After an error of [ClaimAll], decide nothing from Owned. It may lack a
//     running pod whose adoption has failed, and a second one would be created.
//   - Claim nothing for an owner whose selector is empty: [ErrEmptySelector].
//   - Record each adoption and release in what outlives a pass. The cache shows
//     them late. A pass without them sends the same patch again, which changes
//     nothing.
//   - Check with [Owner.ValidateLabels] that the owner keeps what it creates.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1:
//
//   - An owner that could not be read is an error once in a pass. There it is
//     one for each orphan.
//   - A selector that does not select the labels of the owner's own template is
//     refused. There the API server checks it, for its own kinds only.
package ownership
