package cri

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Annotations of other domains are most of those that pods have.
func TestOnlyAnnotationsOfTheDomainMakeAScript(t *testing.T) {
	annotated := func(name, value string) *corev1.Pod {
		return newPod(map[string]string{name: value}, "main")
	}
	of := func(pod *corev1.Pod) Script {
		script, err := ParseScript(pod, "main")
		require.NoError(t, err)
		return script
	}
	// Each annotation of a script is absent.
	absent := of(annotated(AnnotationDomain+"/"+AnnotationCrash, "main")) // it is for package edge
	assert.Equal(t, Script{LiveTime: Forever}, absent)
	assert.Equal(t, absent, of(&corev1.Pod{}))
	assert.Equal(t, absent, of(annotated("kubernetes.io/config.seen", "1")))
	for _, name := range []string{"", "main."} {
		assert.NotEqual(t, absent, of(annotated(name+AnnotationDomain+"/"+AnnotationStopCode, "1")), name)
	}
}

// A name that is misspelled is reported as a value that is wrong.
func TestAnUnknownAnnotationOfTheDomainIsReported(t *testing.T) {
	for name, says := range map[string]string{
		domain + "run-times":          domain + `run-times: there is no "run-times", want one of crash, exit-code, `,
		"main." + domain + "silent":   `there is no "silent"`,
		"mian." + domain + "run-time": "annotation mian." + domain + `run-time: there is no container "mian"`,
	} {
		pod := newPod(map[string]string{name: "1s", "other." + AnnotationDomain + ".org/run-times": ""}, "main")
		script, err := ParseScript(pod, "")
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n", "nothing else")
		assert.Equal(t, Script{LiveTime: Forever}, script)
		_, err = ParseScript(pod, "main")
		assert.NoError(t, err, "it is told of once, with the pod")
	}
}
