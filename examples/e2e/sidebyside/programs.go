package sidebyside

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// BuildOurs builds one of the programs of the module examples into dir, and
// returns its path.
func BuildOurs(ctx context.Context, dir, name string) (string, error) {
	const module = "github.com/kubelife/lifecycle/examples"
	folder, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the module of the examples: %w", err)
	}
	path := filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "-C", strings.TrimSpace(string(folder)),
		"build", "-o", path, "./"+name)
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// Protobuf returns access that costs two crowded cores less than JSON.
func Protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// ProtobufClient returns a client with the access of Protobuf.
func ProtobufClient(config *rest.Config, agent string) (kubernetes.Interface, error) {
	config = Protobuf(config)
	config.UserAgent = agent
	return kubernetes.NewForConfig(config)
}

// lines lets several goroutines write whole lines.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}
