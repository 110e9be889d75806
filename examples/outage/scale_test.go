package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scale"
)

func TestScalePrintsATable(t *testing.T) {
	code, out, diagnostics := call(t, "", "scale", "--least", "6", "--nodes", "12")
	require.Zero(t, code, diagnostics)
	require.Contains(t, out, "0:20:00 in which a third of the nodes is silent for 0:10:00, eviction rate 0.1/s, seed 1.\n")
	require.Regexp(t, `(?m)^6 +60 +2 +2 `, out)
	require.Regexp(t, `(?m)^12 +120 +4 +4 `, out)

	code, out, diagnostics = call(t, "", "scale", "--least", "6", "--nodes", "6", "--seed", "7", "--json")
	require.Zero(t, code, diagnostics)
	r := decode[scale.Report](t, out)
	require.Equal(t, uint64(7), r.Seed)
	require.Len(t, r.Rows, 1)
	require.Equal(t, 60, r.Rows[0].Pods)
	require.Positive(t, r.Rows[0].LiveHeap)

	code, table, diagnostics := call(t, "", "scale", "--least", "6", "--nodes", "6", "--kubelets")
	require.Zero(t, code, diagnostics)
	require.Contains(t, table, "\nEach node runs the kubelet of examples/hollownode.\n")
	code, table, diagnostics = call(t, "", "scale", "--least", "6", "--nodes", "6", "--kubelets", "--json")
	require.Zero(t, code, diagnostics)
	kubelets := decode[scale.Report](t, table)
	require.True(t, kubelets.Kubelets)
	require.Greater(t, kubelets.Rows[0].Allocations, 2*r.Rows[0].Allocations, "the kubelets are there")
}

func TestScaleIsCalledWrongly(t *testing.T) {
	for text, args := range map[string][]string{
		"scale takes no scenario, got [\"zone-loss\"]":         {"scale", "zone-loss"},
		"--least is 0, want at least 3":                        {"scale", "--least", "0"},
		"--least is 2, want at least 3":                        {"scale", "--least", "2"},
		"--nodes is 10, want at least --least, which is 12500": {"scale", "--nodes", "10"},
		"unknown flag: --check":                                {"scale", "--check"},
		"--node-eviction-rate is 0, want more":                 {"scale", "--node-eviction-rate", "0"},
		"EvictionRate is -2, want 0 for 0.1, or more":          {"scale", "--node-eviction-rate=-2"},
	} {
		code, out, diagnostics := call(t, "", args...)
		require.Equal(t, exitUsage, code, text)
		require.Empty(t, out)
		require.Contains(t, diagnostics, text)
	}
}

// Package scale tests that the sizes that are complete are in the report.
func TestAnInterruptedScaleSaysSo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, diagnostics bytes.Buffer
	code := run(ctx, []string{"scale"}, strings.NewReader(""), &out, &diagnostics)
	require.Equal(t, exitFailed, code)
	require.Equal(t, "outage: interrupted after 0 of 4 sizes\n", diagnostics.String())
	require.Contains(t, out.String(), "PARTIAL: 0 of 4 sizes.\n")
}
