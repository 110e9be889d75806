package controlplane

import "regexp"

// kubemarkRoot is what kubemark says of the folder that it makes. Source:
// pkg/kubemark/hollow_kubelet.go, v1.37.1.
var kubemarkRoot = regexp.MustCompile(`Using (\S+) as root dir`)

// KubemarkRoot returns the folder that a process of kubemark has made, or ""
// if it has not said so yet. The folder is in /tmp, whatever TMPDIR says, and
// stays when the process ends. So the caller removes it.
func (p *Process) KubemarkRoot() string {
	const all = 1_000_000
	if root := kubemarkRoot.FindStringSubmatch(p.LogTail(all)); len(root) == 2 {
		return root[1]
	}
	return ""
}
