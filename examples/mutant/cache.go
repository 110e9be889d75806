package mutant

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The go command keeps what it has compiled for five days. With a fault in
// each, that is gigabytes a run that nothing reads again. So it is given a
// cache (GOCACHEPROG) that reads from the ordinary one, and writes to a folder
// of the test. The protocol is in "go doc -u cmd/go/internal/cacheprog". The
// test binary serves it if the environment names the ordinary cache.
const (
	ordinaryCache = "MUTANT_GOCACHE"
	newFiles      = "MUTANT_NEW" // the folder for what is compiled
)

// Main is for TestMain of a package that calls [Mutation.Build]:
//
//	func TestMain(m *testing.M) { os.Exit(mutant.Main(m.Run)) }
//
// It serves the cache if the go command has started the test binary for that,
// and runs the tests otherwise. It returns the exit code.
func Main(run func() int) int {
	ordinary := os.Getenv(ordinaryCache)
	if ordinary == "" {
		return run()
	}
	c := cache{ordinary: ordinary, folder: os.Getenv(newFiles), stored: make(map[string]entry)}
	if err := c.serve(os.Stdin, os.Stdout); err != nil {
		_, _ = io.WriteString(os.Stderr, "cache of the mutations: "+err.Error()+"\n")
		return 1
	}
	return 0
}

// throwaway has a go command write what it compiles to a folder.
func throwaway(ctx context.Context, command *exec.Cmd, folder string) error {
	ordinary, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("ask for the cache of the go command: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the running test binary: %w", err)
	}
	command.Env = append(os.Environ(), "GOCACHEPROG="+program,
		ordinaryCache+"="+strings.TrimSpace(string(ordinary)), newFiles+"="+folder)
	return nil
}

// request and response are those of the protocol, as far as they are used.
type request struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

type response struct {
	ID            int64
	Err           string   `json:",omitempty"`
	KnownCommands []string `json:",omitempty"`
	Miss          bool     `json:",omitempty"`
	OutputID      []byte   `json:",omitempty"`
	Size          int64    `json:",omitempty"`
	DiskPath      string   `json:",omitempty"`
}

type entry struct {
	output []byte
	size   int64
	path   string
}

type cache struct {
	ordinary, folder string
	stored           map[string]entry // by action
}

// serve answers requests until one says close.
func (c *cache) serve(in io.Reader, out io.Writer) error {
	requests, responses := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	if err := responses.Encode(response{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			return err
		}
		answer, err := response{}, error(nil)
		switch r.Command {
		case "get":
			answer = c.get(r.ActionID)
		case "put":
			answer, err = c.put(requests, r)
		case "close":
			return responses.Encode(response{ID: r.ID})
		default:
			err = errors.New("unknown command " + r.Command)
		}
		if err != nil {
			answer.Err = err.Error()
		}
		answer.ID = r.ID
		if err := responses.Encode(answer); err != nil {
			return err
		}
	}
}

func (c *cache) get(action []byte) response {
	e, found := c.stored[string(action)]
	if !found {
		e, found = c.ofOrdinary(action)
	}
	return response{Miss: !found, OutputID: e.output, Size: e.size, DiskPath: e.path}
}

// ofOrdinary reads an entry of the ordinary cache: "v1", the action, the
// output, its size and a time. If another version of Go has another format, all
// is compiled.
func (c *cache) ofOrdinary(action []byte) (entry, bool) {
	path := func(id, kind string) string { return filepath.Join(c.ordinary, id[:2], id+kind) }
	text, err := os.ReadFile(path(hex.EncodeToString(action), "-a"))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) != 5 || fields[0] != "v1" || len(fields[2]) < 2 {
		return entry{}, false
	}
	output, err := hex.DecodeString(fields[2])
	size, errSize := strconv.ParseInt(fields[3], 10, 64)
	file, errFile := os.Stat(path(fields[2], "-d"))
	if errors.Join(err, errSize, errFile) != nil || file.Size() != size {
		return entry{}, false
	}
	return entry{output, size, path(fields[2], "-d")}, true
}

// put writes the body that follows its request.
func (c *cache) put(requests *json.Decoder, r request) (response, error) {
	var body []byte
	if r.BodySize > 0 {
		if err := requests.Decode(&body); err != nil {
			return response{}, err
		}
	}
	path := filepath.Join(c.folder, hex.EncodeToString(r.OutputID))
	if err := os.WriteFile(path, body, 0o600); err != nil {
		return response{}, err
	}
	c.stored[string(r.ActionID)] = entry{r.OutputID, int64(len(body)), path}
	return response{DiskPath: path}, nil
}
