package cluster

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// names makes names of the scenario language of those of a cluster.
type names struct {
	hash  bool
	taken map[string]string // what each name stands for
}

func newNames(hash bool) *names { return &names{hash: hash, taken: map[string]string{}} }

// hashed is what is left of a name that is hidden.
func hashed(kind, name string) string {
	return fmt.Sprintf("%s-%x", kind, sha256.Sum256([]byte(name)))[:len(kind)+9]
}

// value returns a name that may be any value of a label. Nothing stays nothing.
func (n *names) value(kind, name string) string {
	if !n.hash || name == "" {
		return name
	}
	return hashed(kind, name)
}

// longest is how long a name is at most. The language allows 63 letters, and
// those of nodes and pods get a number.
const longest = 50

// label returns a DNS label for a name of that kind, of a thing that is told
// from others by its identity. The same thing gets the same label, and no two
// of a kind get one.
func (n *names) label(kind, name, identity string) string {
	label := n.plain(kind, name)
	if other, ok := n.taken[kind+" "+label]; ok && other != identity {
		label = label[:min(len(label), longest-9)] + hashed("", identity)
	}
	n.taken[kind+" "+label] = identity
	return label
}

func (n *names) plain(kind, name string) string {
	if n.hash {
		return hashed(kind, name)
	}
	label := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	label = strings.Trim(label, "-")
	switch {
	case label == "":
		return hashed(kind, name)
	case len(label) > longest:
		return label[:longest-9] + hashed("", name)
	}
	return label
}

// key returns the key of a taint. Those of Kubernetes itself say nothing of a
// cluster, and are never hidden.
func (n *names) key(key string) string {
	domain, _, _ := strings.Cut(key, "/")
	if !n.hash || key == "" || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return key
	}
	return hashed("taint", key)
}

// kind returns a kind of objects, with its API version or without. Those of
// Kubernetes itself are never hidden.
func (n *names) kind(kind string) string {
	apiVersion, alone, both := strings.Cut(kind, " ")
	if !both {
		apiVersion, alone = "", kind
	}
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = "" // the version of the core group
	}
	own := group == "apps" || group == "batch" || group == "autoscaling" || group == "policy" || group == "extensions" ||
		strings.HasSuffix(group, ".k8s.io") || group == "" && (both || slices.Contains(ownerKinds(), alone))
	if !n.hash || own {
		return kind
	}
	return hashed("kind", kind)
}

// ownerKinds are the kinds of Kubernetes itself that own pods.
func ownerKinds() []string {
	return []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Pod", "Job", "CronJob", "Node",
		"ReplicationController"}
}
