package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/versus"
)

// build builds both programs into dir and returns their paths. One of ours that
// is there already is taken as it is.
func build(ctx context.Context, dir, program string) (paths [subjects]string, err error) {
	paths[ours] = program
	if program == "" {
		if paths[ours], err = versus.BuildOurs(ctx, dir, "nodelifecycle"); err != nil {
			return paths, err
		}
	}
	const baselinePackage = "github.com/kubelife/lifecycle/examples/e2e/rest/baseline"
	paths[baseline] = filepath.Join(dir, "baseline")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", paths[baseline], baselinePackage).CombinedOutput()
	if err != nil {
		return paths, fmt.Errorf("build the baseline: %w\n%s", err, out)
	}
	return paths, nil
}

// tick is the unit of times in /proc on Linux, whatever the kernel's own.
const tick = 10 * time.Millisecond

var errStat = errors.New("unknown format of /proc/PID/stat")

// cpuTime returns what all threads of a process have used, user and system.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

// parseStat reads the fields 14 and 15 of proc_pid_stat(5). The name of the
// program, field 2, is in parentheses and may contain some.
func parseStat(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0, fmt.Errorf("%w: %q", errStat, stat)
	}
	var ticks int64
	for _, field := range []int{user, system} {
		n, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %q", errStat, stat)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}
