package architecture

// modulePath is the module whose packages are checked.
const modulePath = "github.com/kubelife/lifecycle"

// rooms maps each package of the root module to those of ours that it may
// import. A folder below a room belongs to that room.
var rooms = map[string][]string{
	"timedqueue": nil,
	"taints":     nil,
	"zone":       nil,
	"eviction":   {"taints", "timedqueue"},
	"nodehealth": {"timedqueue"},
	"daemon":     {"taints"},
}

// edgeFiles lists the files that act, and why each must. Everything else in a
// room, its tests apart, is core. .golangci.yml repeats the names, but for those
// of timelessEdges.
var edgeFiles = map[string]string{
	"timedqueue/dispatcher.go": "sleeps until an item is due and runs the actions",
	"taints/apply.go":          "sends the patch and retries when its guard fails",
	"eviction/action.go":       "composes actions",
	"eviction/calledoff.go":    "tells an action that is under way, on another goroutine",
	"eviction/cause.go":        "knows the errors of clients, networks and contexts",
	"eviction/client.go":       "reads, marks and unmarks the pod",
	"eviction/delete.go":       "deletes the pod",
	"eviction/evict.go":        "asks for the pod's eviction",
	"eviction/transport.go":    "is in between when the API server answers",
	"nodehealth/heartbeats.go": "renews leases and reports status on timers",
	"daemon/claimer.go":        "adopts and releases",
	"daemon/executor.go":       "creates, deletes and reads pods, several at a time",
	"daemon/historykeeper.go":  "writes revisions",
}

// timelessEdges are the edges that only call out: they neither read a clock nor
// wait, and start no goroutine, so that a simulator can drive them in virtual
// time. Each is a file of edgeFiles, or a folder of a program.
var timelessEdges = []string{
	"eviction/action.go", "eviction/client.go",
	"eviction/delete.go", "eviction/evict.go", "examples/nodelifecycle/edge",
	"daemon/claimer.go", "daemon/historykeeper.go",
	// And the simulator itself, whose runs have to be the same each time. Of the
	// simulation two files are left out: one forges the readings of clocks, one
	// hands contexts to the edges.
	"examples/outage/model", "examples/outage/simulation/election.go",
	"examples/outage/simulation/replica.go", "examples/outage/simulation/script.go",
	"examples/outage/simulation/simulation.go",
}

// programCores are folders of programs that only decide.
var programCores = []string{
	"examples/nodelifecycle/controller", "examples/nodelifecycle/options",
	"examples/evicting", "examples/process/commandline/checks.go", "examples/process/commandline/sharing.go",
	"examples/outage/explore", "examples/outage/invariant", "examples/outage/report",
	"examples/outage/scenario",
}

// topLevel is what the repository's root may hold, names with a leading dot apart.
var topLevel = []string{
	"timedqueue", "taints", "zone", "eviction", "nodehealth", "daemon",
	"examples", "go.mod", "go.sum", "README.md", "LICENSE",
}

// vagueFolders are names that say nothing, under which anything collects. The
// go command gives internal a meaning, but there is no third party to hide from
// here: what others would want belongs into a room.
var vagueFolders = []string{
	"internal", "pkg", "util", "utils", "common", "helper", "helpers", "misc",
}

// withoutClientGo are the rooms that must not link client-go, however indirectly.
var withoutClientGo = []string{"timedqueue", "taints", "zone"}

// allowedModules are the prefixes of import paths outside the standard library
// that a room may use. Importers of the library get these modules and no others.
var allowedModules = []string{
	modulePath,
	"golang.org/x/time",
	"k8s.io/api",
	"k8s.io/apimachinery",
	"k8s.io/client-go",
	"k8s.io/component-helpers",
	"k8s.io/klog/v2",
	"k8s.io/utils",
}

// allowedInTests may be imported by a room's tests in addition.
var allowedInTests = []string{"github.com/stretchr/testify"}

const (
	// longestFile is the most lines that a file of a room may have.
	longestFile = 500
	// shortestPackageDoc is the fewest lines with text that introduce a package.
	shortestPackageDoc = 10
)

// bannedImport is an import path, with everything below it, and what it would let
// into a file.
type bannedImport struct{ path, brings string }

// coreImports are what a core file may not import.
var coreImports = []bannedImport{
	{"C", "code that is not Go"},
	{"crypto/rand", "randomness that was not injected"},
	{"expvar", "global state"},
	{"github.com/go-logr", "logging"},
	{"github.com/google/uuid", "randomness that was not injected"},
	{"hash/maphash", "randomness that was not injected"},
	{"k8s.io/apimachinery/pkg/util/rand", "randomness that was not injected"},
	{"k8s.io/apimachinery/pkg/util/uuid", "randomness that was not injected"},
	{"k8s.io/apimachinery/pkg/util/wait", "sleeping and goroutines"},
	{"k8s.io/apimachinery/pkg/watch", "goroutines and channels"},
	{"k8s.io/client-go", "API calls"},
	{"k8s.io/utils/clock", "a clock; time is an argument"},
	{"log", "logging"},
	{"net", "I/O"},
	{"os", "I/O"},
	{"plugin", "I/O"},
	{"runtime", "the scheduler's and the machine's state"},
	{"sync", "shared state; a core is called by one goroutine at a time"},
	{"syscall", "I/O"},
	{"testing", "test code"},
	{"unsafe", "code that the type system does not check"},
}

// coreNames say which names of a package a core file may use: all but those of
// deny or, where deny is empty, only those of allow.
var coreNames = map[string]struct {
	deny, allow []string
	why         string
}{
	"time": {
		deny: []string{
			"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick",
			"NewTimer", "NewTicker", "Timer", "Ticker",
		},
		why: "time is an argument, a core neither reads a clock nor waits",
	},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {
		deny: []string{"Now", "NowMicro"},
		why:  "time is an argument, a core reads no clock",
	},
	"golang.org/x/time/rate": {
		deny: []string{"Sometimes"},
		why:  "time is an argument, a core reads no clock",
	},
	"math/rand": {
		allow: []string{"Rand", "Source", "Source64", "Zipf", "New", "NewSource", "NewZipf"},
		why:   "the global functions are randomness that was not injected",
	},
	"math/rand/v2": {
		allow: []string{
			"Rand", "Source", "Zipf", "PCG", "ChaCha8", "New", "NewZipf", "NewPCG", "NewChaCha8",
		},
		why: "the global functions are randomness that was not injected",
	},
	"context": {
		// Only to name the type in an interface or a callback of an edge.
		allow: []string{"Context"},
		why:   "contexts are for calls that wait, which a core does not make",
	},
	"k8s.io/klog/v2": {
		// Nothing. klog.Logger{}, which logs nothing, is not looked at: some
		// pure functions of k8s.io/component-helpers want a logger.
		why: "a core does not log",
	},
	"fmt": {
		deny: []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
		why:  "a core does no I/O",
	},
}

// limiterMethods are those of rate.Limiter that read the clock or wait, by the
// number of arguments that tells them from methods which take the time: Allow()
// and AllowN(now, n), SetLimit(l) and SetLimitAt(now, l). They are looked for in
// files that import golang.org/x/time/rate.
var limiterMethods = map[string]int{
	"Allow":    0,
	"Reserve":  0,
	"Tokens":   0,
	"Wait":     1,
	"WaitN":    2,
	"SetBurst": 1,
	"SetLimit": 1,
}
