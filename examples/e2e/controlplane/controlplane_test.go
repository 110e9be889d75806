package controlplane

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func clientFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createNode(t *testing.T, client kubernetes.Interface, name string) *corev1.Node {
	t.Helper()
	node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func createNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// One control plane serves every test that leaves it running.
func TestControlPlane(t *testing.T) {
	cp := ForTest(t, Config{})
	t.Run("serves the version of go.mod", func(t *testing.T) { testVersion(t, cp) })
	t.Run("runs default admission", func(t *testing.T) { testAdmission(t, cp) })
	t.Run("enforces RBAC on users", func(t *testing.T) { testUserRights(t, cp) })
	t.Run("enforces RBAC on service accounts", func(t *testing.T) { testServiceAccountRights(t, cp) })
	t.Run("counts requests exactly", func(t *testing.T) { testCount(t, cp) })
	t.Run("counts requests through a kubeconfig", func(t *testing.T) { testKubeconfig(t, cp) })
	t.Run("keeps data over a kill", func(t *testing.T) { testKill(t, cp) })
	t.Run("counts over restarts", func(t *testing.T) { testCountOverRestart(t, cp) })
}

func testVersion(t *testing.T, cp *ControlPlane) {
	version, err := clientFor(t, cp.RESTConfig()).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := Go(t.Context(), "", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != strings.TrimSpace(string(pinned)) || version.Major+"."+version.Minor != "1.37" {
		t.Errorf("the server says %s (%s.%s), go.mod %s", version.GitVersion, version.Major, version.Minor, pinned)
	}
}

func testAdmission(t *testing.T, cp *ControlPlane) {
	client := clientFor(t, cp.RESTConfig())
	node := createNode(t, client, "admitted")
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != corev1.TaintNodeNotReady {
		t.Errorf("a new node has the taints %v, want not-ready", node.Spec.Taints)
	}
	pod := createPod(t, client, "admitted")
	if len(pod.Spec.Tolerations) != 2 {
		t.Errorf("a pod has the tolerations %v, want those of the two node taints", pod.Spec.Tolerations)
	}
}

func createPod(t *testing.T, client kubernetes.Interface, name string) *corev1.Pod {
	t.Helper()
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestStopLeavesNothing(t *testing.T) {
	t.Parallel()
	cp, err := Start(t.Context(), Config{Build: BuildConfig{Progress: t.Output()}})
	if err != nil {
		t.Fatal(err)
	}
	processes := []*Process{cp.currentEtcd(), cp.currentAPIServer()}
	for _, process := range processes {
		if !exists(process.PID()) {
			t.Errorf("%s does not run, the test proves nothing", process.name)
		}
	}
	begun := time.Now()
	if err := cp.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("stopped in %s", time.Since(begun).Round(time.Millisecond))

	for _, process := range processes {
		if process.Running() || exists(process.PID()) {
			t.Errorf("%s runs", process.name)
		}
	}
	for _, p := range []*port{cp.etcdPort, cp.apiPort} {
		if !canListen(p.number) {
			t.Errorf("port %d is taken", p.number)
		}
	}
	if _, err := os.Stat(cp.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder is there: %v", err)
	}
	if err := cp.Stop(); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	if err := cp.RestartAPIServer(t.Context()); !errors.Is(err, ErrStopped) {
		t.Errorf("restarting after Stop: %v, want ErrStopped", err)
	}
}

func TestTwoAtOnceDoNotMeet(t *testing.T) {
	t.Parallel()
	var planes [2]*ControlPlane
	var group sync.WaitGroup
	for i := range planes {
		group.Go(func() {
			var err error
			if planes[i], err = Start(t.Context(), Config{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, cp := range planes {
		if cp == nil {
			continue
		}
		t.Cleanup(func() {
			if err := cp.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	if t.Failed() {
		return
	}
	createNode(t, clientFor(t, planes[0].RESTConfig()), "mine")
	_, err := clientFor(t, planes[1].RESTConfig()).CoreV1().Nodes().Get(t.Context(), "mine", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the other control plane says %v of the node, want not found", err)
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	dir := t.TempDir()
	_, err := Start(t.Context(), Config{Dir: dir, APIServerFlags: map[string]string{"no-such-flag": "1"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("got %v, want the server's own words", err)
	}
	t.Logf("known after %s", time.Since(begun).Round(time.Millisecond))
	if got := processesOf(t, dir); len(got) > 0 {
		t.Errorf("left running: %v", got)
	}
}

func TestStartEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // enough for etcd, too little for the rest
	defer cancel()
	dir := t.TempDir()
	if _, err := Start(ctx, Config{Dir: dir}); err == nil {
		t.Error("it started within a second")
	}
	if got := processesOf(t, dir); len(got) > 0 {
		t.Errorf("left running: %v", got)
	}
}

// processesOf returns the command lines of the processes that work in a folder.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("there is no /proc to look into")
	}
	var found []string
	for _, entry := range entries {
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), dir) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// recorder stands for a test that fails.
type recorder struct {
	testing.TB
	logged   []string
	cleanups []func()
}

func (r *recorder) Failed() bool       { return true }
func (r *recorder) Log(args ...any)    { r.logged = append(r.logged, args[0].(string)) }
func (r *recorder) Cleanup(end func()) { r.cleanups = append(r.cleanups, end) }

func TestAFailedTestShowsTheLogsAndStops(t *testing.T) {
	t.Parallel()
	failed := &recorder{TB: t}
	cp := ForTest(failed, Config{Dir: t.TempDir()})
	for _, end := range failed.cleanups {
		end()
	}
	shown := strings.Join(failed.logged, "\n")
	for _, log := range []string{"etcd.log:", "kube-apiserver-1.log:"} {
		if !strings.Contains(shown, log) {
			t.Errorf("%s is not shown in:\n%s", log, shown)
		}
	}
	if cp.currentEtcd().Running() || cp.currentAPIServer().Running() {
		t.Error("it runs on")
	}
}
