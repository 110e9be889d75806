package tables

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ours = "../../../hollownode/kubelet"

// kubeletSources returns the folder of the kubelet's sources.
func kubeletSources(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	require.NoError(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "pkg/kubelet")
}

// Each number of the list is that of the sources.
func TestTheTablesHaveAsManyCasesAsIsSaid(t *testing.T) {
	upstream := kubeletSources(t)
	for _, table := range tables {
		cases := 0
		if len(table.tests) == 0 {
			n, err := wholeOf(filepath.Join(upstream, table.file))
			require.NoError(t, err)
			cases = n
		}
		for _, test := range table.tests {
			n, err := longestOf(filepath.Join(upstream, table.file), test)
			require.NoError(t, err)
			cases += max(n, 1) // one without a table is one case
		}
		assert.Equal(t, cases, table.cases, "%s %s of the kubelet", table.file, table.tests)
		taken := 0
		for _, held := range table.ours {
			file, name, _ := strings.Cut(held, " ")
			n, err := sumOf(filepath.Join(ours, file), name)
			require.NoError(t, err)
			taken += n
		}
		assert.Equal(t, taken, table.taken+table.own, "%s here", table.ours)
		assert.Equal(t, table.taken == table.cases, table.why == "", "%s: why not all?", table.tests)
	}
}

// Each test of a file that the list names is in the list once, or among those
// that are left out with a reason.
func TestNoTestOfAFileIsForgotten(t *testing.T) {
	upstream := kubeletSources(t)
	listed, whole := map[string][]string{}, map[string]bool{}
	for _, table := range tables {
		listed[table.file] = append(listed[table.file], table.tests...)
		whole[table.file] = whole[table.file] || len(table.tests) == 0
	}
	for _, out := range leftOuts {
		assert.Contains(t, listed, out.file)
		assert.NotEmpty(t, out.why)
		listed[out.file] = append(listed[out.file], out.tests...)
	}
	for file, tests := range listed {
		found, err := testsOf(filepath.Join(upstream, file))
		require.NoError(t, err)
		if whole[file] {
			assert.Empty(t, tests, "all of %s is one entry", file)
			continue
		}
		assert.ElementsMatch(t, found, tests, file)
	}
}

// What the package comment says of the tables is what they have.
func TestThePackageCommentHasTheSums(t *testing.T) {
	comment, err := os.ReadFile(filepath.Join(ours, "doc.go"))
	require.NoError(t, err)
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(comment), "//", "")), " ")
	cases, taken := 0, 0
	allCases, allTaken, none := 0, 0, 0
	for _, table := range tables {
		allCases, allTaken = allCases+table.cases, allTaken+table.taken
		if table.taken == 0 {
			none++
		}
		first := strings.Join(table.tests, " ")
		if strings.HasPrefix(first, "TestComputePodActions") && !strings.HasSuffix(first, "Resize") {
			cases, taken = cases+table.cases, taken+table.taken
		}
		if strings.HasPrefix(first, "TestPodPhase") {
			require.Equal(t, table.cases, table.taken)
			assert.Contains(t, text, fmt.Sprintf("and all %d for the phase.", table.cases))
		}
	}
	assert.Contains(t, text, fmt.Sprintf("%d of the %d cases for computePodActions, ", taken, cases))
	assert.Contains(t, text, fmt.Sprintf("In total, %d of the %d cases in the tables ", allTaken, allCases))
	assert.Contains(t, text, fmt.Sprintf("Of %d of the %d tables none is.", none, len(tables)))
}

// A test that is named as a reason is there.
func TestTheReasonsNameTestsThatAreThere(t *testing.T) {
	named := 0
	var reasons []string
	for _, table := range tables {
		reasons = append(reasons, table.why)
	}
	for _, out := range leftOuts {
		reasons = append(reasons, out.why)
	}
	for word := range strings.FieldsSeq(strings.Join(reasons, " ")) {
		if word = strings.Trim(word, ",;."); strings.HasPrefix(word, "Test") {
			named++
			assert.True(t, declaredIn(t, word, ours, "..", "../../hollownode"), "%s is not declared", word)
		}
	}
	assert.Positive(t, named)
}

// declaredIn reports whether a test of one of the folders has this name.
func declaredIn(t *testing.T, name string, folders ...string) bool {
	t.Helper()
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			if strings.Contains(string(source), "\nfunc "+name+"(") {
				return true
			}
		}
	}
	return false
}
