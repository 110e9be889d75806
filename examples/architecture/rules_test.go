package architecture

import "regexp"

// modulePath is the module whose packages are checked.
const modulePath = "github.com/kubelife/lifecycle"

// rooms maps each package of the root module to those of ours that it may
// import.
var rooms = map[string][]string{
	"timedqueue": nil,
	"taints":     nil,
	"zone":       nil,
	"eviction":   {"taints", "timedqueue"},
	"nodehealth": {"timedqueue"},
	"daemon":     {"taints"},
}

// subfolders maps a package below a room to those that may import it, with
// everything below them. One that is not here is for its room alone. Programs
// and tests may import all.
var subfolders = map[string][]string{
	"daemon/ownership":     {"daemon/revision", "daemon/rollout"},
	"daemon/revision":      {"daemon/rollout"},
	"daemon/rollout":       nil,
	"nodehealth/heartbeat": nil,
	"nodehealth/observer":  nil,
	"eviction/controller":  nil,
	"timedqueue/feed":      {"eviction/controller", "nodehealth/observer"},
}

// subfolderRooms maps a package below a room to those that it may import and
// its room may not.
var subfolderRooms = map[string][]string{
	"daemon/rollout":      {"timedqueue"},
	"nodehealth/observer": {"zone"},
}

// withClientGo are the packages of the rooms that link client-go, however
// indirectly.
var withClientGo = []string{"eviction/controller", "nodehealth/observer", "timedqueue/feed"}

// notInRooms is what no importer of a room may have to link. The first is
// linked by those of withClientGo alone.
var notInRooms = []string{
	"k8s.io/client-go",
	"github.com/prometheus", "github.com/stretchr", "k8s.io/component-base", "k8s.io/kubernetes", "testing",
}

// allowedModules are the prefixes of import paths outside the standard library
// that a room may use. Importers of the library get these modules and no
// others.
var allowedModules = []string{
	modulePath, "golang.org/x/time", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go",
	"k8s.io/component-helpers", "k8s.io/klog/v2", "k8s.io/utils",
}

// edgeFiles lists the files that act, and why each must. Everything else in a
// room, its tests apart, is core.
var edgeFiles = map[string]string{
	"timedqueue/dispatcher.go":          "sleeps until the core has a task and has it performed",
	"timedqueue/feed/handler.go":        "is told by an informer, and reads the informer's store",
	"timedqueue/feed/expiry.go":         "has own writes expire once a second",
	"timedqueue/feed/store.go":          "reads an informer and its store",
	"timedqueue/job.go":                 "has a task performed",
	"timedqueue/panics.go":              "logs actions that do not return",
	"timedqueue/workers.go":             "runs the actions on goroutines",
	"taints/apply.go":                   "sends the patch and retries when its guard fails",
	"eviction/act.go":                   "sets the pod's condition, and deletes or evicts the pod",
	"eviction/action.go":                "composes actions",
	"eviction/errors.go":                "knows the errors of clients, networks and contexts",
	"eviction/controller/controller.go": "runs informers, workers and a client",
	"eviction/controller/informer.go":   "is told by informers",
	"eviction/deleter.go":               "deletes a pod when a worker calls it",
	"eviction/evictor.go":               "evicts a pod when a worker calls it",
	"eviction/attempt.go":               "tells an action that is under way, on another goroutine",
	"eviction/transport.go":             "is in between when the API server answers",
	"nodehealth/observer/config.go":     "names the caller's informers",
	"nodehealth/observer/observer.go":   "is told by informers, reads leases and calls the caller back",
	"nodehealth/observer/view.go":       "is read by any goroutine while the core writes it",
	"nodehealth/heartbeat/sender.go":    "reads the clock and drives the schedule",
	"nodehealth/heartbeat/act.go":       "renews leases and reports statuses",
	"nodehealth/heartbeat/stepper.go":   "has the beats of a simulation sent, at its time",
	"daemon/ownership/claimer.go":       "adopts and releases",
	"daemon/revision/manager.go":        "writes revisions",
	"daemon/rollout/executor.go":        "creates, deletes and reads pods",
}

// programCores are files and folders of programs that only decide.
var programCores = []string{
	"examples/controllerruntime/failover",
	"examples/daemonset/controller", "examples/daemonset/explore", "examples/daemonset/invariant",
	"examples/hollownode/cri", "examples/hollownode/explore", "examples/hollownode/invariant",
	"examples/hollownode/kubelet", "examples/hollownode/life",
	"examples/nodelifecycle/controller", "examples/nodelifecycle/judge", "examples/nodelifecycle/options",
	"examples/outage/cluster", "examples/outage/exhaustive", "examples/outage/explore",
	"examples/outage/page", "examples/outage/report", "examples/outage/scenario",
	"examples/process/commandline", "examples/process/evicting", "examples/process/htmlpage",
	"examples/process/shadow",
	"examples/scheduler/fit", "examples/scheduler/scheduling",
	// The runs of a simulator have to be the same each time.
	"examples/outage/model", "examples/simulation/network", "examples/daemonset/simulation", "examples/hollownode/simulation",
	"examples/outage/simulation", "examples/simulation/apiserver", "examples/simulation/cluster",
	"examples/simulation/program",
	"examples/simulation/virtualtime",
}

// programEdges are files and folders in those of programCores that act.
var programEdges = append([]string{
	"examples/controllerruntime/failover/controller.go", "examples/controllerruntime/failover/metrics.go",
	"examples/controllerruntime/failover/stop.go",
	"examples/hollownode/life/life.go",
	"examples/outage/cluster/list.go", "examples/outage/exhaustive/explore.go",
	"examples/outage/simulation/clock.go", "examples/simulation/program/clients.go",
	"examples/simulation/program/errand.go",
	"examples/process/commandline/serving.go", "examples/process/evicting/evictionreport",
	"examples/process/htmlpage/assets.go", "examples/process/htmlpage/browser",
	"examples/process/shadow/page.go", "examples/process/shadow/report.go", "examples/process/shadow/shadow.go",
	"examples/simulation/apiserver/conformance",
}, timelessEdges...)

// timelessEdges are the edges that only call out, so that a simulator can drive
// them in virtual time.
var timelessEdges = []string{
	"daemon/ownership/claimer.go", "daemon/revision/manager.go", "eviction/act.go", "eviction/action.go",
	"nodehealth/heartbeat/stepper.go", "timedqueue/feed/handler.go",
	"examples/daemonset/edge", "examples/hollownode/edge", "examples/nodelifecycle/edge",
	"examples/daemonset/simulation/kind.go",
	"examples/simulation/network/watch.go", "examples/outage/simulation/replica.go",
}

// reducers are the packages of programs that keep the rooms' conventions.
var reducers = []string{
	"examples/daemonset/controller", "examples/hollownode/cri", "examples/hollownode/kubelet",
	"examples/nodelifecycle/controller", "examples/scheduler/fit", "examples/scheduler/scheduling",
}

// queueUsers are the packages in which whatever waits for a time waits in a
// timedqueue.Queue. Two are left out. Zone imports nothing of ours, and its
// times are a caller's to wait for. The planner of daemon/rollout may rank
// candidates in a heap, because they wait for no time.
var queueUsers = append([]string{"eviction", "nodehealth"}, reducers...)

// engineExceptions are the declarations that do what only timedqueue should,
// and why.
var engineExceptions = map[string]string{
	"eviction/deadline.go DueAt":                   "answers a caller, and nothing waits for it",
	"eviction/deadline.go dueAt":                   "decides where a pod waits, which is a Queue",
	"nodehealth/heartbeat/schedule.go reportCause": "chooses the reason of a report that goes out now",
	"nodehealth/monitor.go StartWithin":            "puts a key that was heard back into its queue",
	"nodehealth/sight.go seen":                     "bounds the clock of a queue, and nothing waits for it",
}

// unlikeConstructors are exported functions New... that are not as the others.
var unlikeConstructors = map[string]string{
	"daemon/ownership/claimer.go NewClaimer":     "has one setting, the owner",
	"daemon/ownership/ownership.go NewOwnership": "has one setting, the owner",
	"daemon/revision/revision.go New":            "makes an object of the API",
	"daemon/rollout/pod.go NewPod":               "makes an object of the API",
	"timedqueue/dispatcher.go NewDispatcher":     "takes first what it infers types from",
	"timedqueue/dispatcher.go NewJobDispatcher":  "takes first what NewDispatcher does, for several cores",
}

// unprefixedEnums are files with constants that do not begin with the name of
// their type.
var unprefixedEnums = map[string]string{
	"zone/state.go": "has the names of kube-controller-manager",
}

// coreImports are what a core may not import, with everything below it, by what
// it would bring in.
var coreImports = map[string][]string{
	"API calls":      {"k8s.io/client-go"},
	"I/O":            {"net", "os", "plugin", "syscall"},
	"a clock":        {"k8s.io/utils/clock"},
	"global state":   {"expvar", "runtime"},
	"goroutines":     {"k8s.io/apimachinery/pkg/util/wait", "k8s.io/apimachinery/pkg/watch"},
	"locks":          {"sync"}, // a core is called by one goroutine at a time
	"logging":        {"github.com/go-logr", "log"},
	"test code":      {"testing"},
	"unchecked code": {"C", "unsafe"},
	"randomness that was not injected": {
		"crypto/rand", "github.com/google/uuid", "hash/maphash",
		"k8s.io/apimachinery/pkg/util/rand", "k8s.io/apimachinery/pkg/util/uuid",
	},
}

// deniedNames are names of a package that a core may not use, as a regular
// expression. Most read a clock, or wait.
var deniedNames = map[string]*regexp.Regexp{
	"fmt": regexp.MustCompile(`^(Print|Scan)(f|ln)?$`),
	// The one token bucket is timedqueue's.
	"golang.org/x/time/rate":               regexp.MustCompile(`^((New)?Limiter|Sometimes)$`),
	"k8s.io/apimachinery/pkg/apis/meta/v1": regexp.MustCompile(`^Now(Micro)?$`),
	"time":                                 regexp.MustCompile(`^(Now|Since|Until|After|AfterFunc|Sleep|Tick|(New)?(Timer|Ticker))$`),
}

// onlyNames are the names of a package besides which a core may use none.
var onlyNames = map[string]*regexp.Regexp{
	"context":        regexp.MustCompile(`^Context$`), // in an interface or a callback of an edge
	"k8s.io/klog/v2": regexp.MustCompile(`^$`),
	"math/rand":      regexp.MustCompile(`^(Rand|Source|Source64|Zipf|New|NewSource|NewZipf)$`),
	"math/rand/v2":   regexp.MustCompile(`^(Rand|Source|Zipf|PCG|ChaCha8|New|NewZipf|NewPCG|NewChaCha8)$`),
}

// holds is what a folder may hold, apart from names with a leading dot.
var holds = map[string][]string{
	".": {
		"timedqueue", "taints", "zone", "eviction", "nodehealth", "daemon",
		"examples", "go.mod", "go.sum", "README.md", "LICENSE",
	},
	"examples": {
		"quickstart", "nodelifecycle", "tainteviction", "daemonset", "scheduler", "controllerruntime",
		"hollownode", "outage", "process", "simulation", "architecture", "e2e",
		"go.mod", "go.sum", "README.md", "Dockerfile",
	},
}

// mostFiles is how many files a folder may have besides tests.
const mostFiles = 25
