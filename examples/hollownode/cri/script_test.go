package cri

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations of other domains are most of those that pods have.
func TestOnlyAnnotationsOfTheDomainMakeAScript(t *testing.T) {
	annotated := func(name, value string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{name: value}}}
	}
	of := func(pod *corev1.Pod) Script {
		script, err := ParseScript(pod, "main")
		require.NoError(t, err)
		return script
	}
	// Each annotation of a script is absent.
	absent := of(annotated(AnnotationDomain+"/other", "1"))
	assert.Equal(t, Script{LiveTime: Forever}, absent)
	assert.Equal(t, absent, of(&corev1.Pod{}))
	assert.Equal(t, absent, of(annotated("kubernetes.io/config.seen", "1")))
	for _, name := range []string{"", "main."} {
		assert.NotEqual(t, absent, of(annotated(name+AnnotationDomain+"/"+AnnotationStopCode, "1")), name)
	}
}
