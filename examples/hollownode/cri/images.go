package cri

// mostImages is how many images a node keeps. A real one makes room on its
// disk. It is twice the images that a kubelet lists in its status.
const mostImages = 100

// useImage records that a node has an image and uses it now. When that is one
// too many, the node forgets the image whose last use is longest ago. One of a
// container stays, as on a real node.
func (m *machine) useImage(image string) {
	m.uses++
	m.images[image] = m.uses
	if len(m.images) <= mostImages {
		return
	}
	used := map[string]bool{image: true}
	for _, p := range m.pods {
		for _, c := range p.containers {
			used[c.Image] = true
		}
	}
	oldest, found := "", false
	for name, use := range m.images {
		if !used[name] && (!found || use < m.images[oldest]) {
			oldest, found = name, true
		}
	}
	if found {
		delete(m.images, oldest)
	}
}
