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
	"daemon":     {"taints", "timedqueue"},
}

// subfolders maps a package below a room to the rooms, or packages below them,
// that may import it. One that is not here may be imported by every room with
// an arrow to the room above. Programs and tests may import all.
var subfolders = map[string][]string{
	"daemon/ownership":     {"daemon"},
	"daemon/revision":      {"daemon"},
	"nodehealth/heartbeat": nil,
	"eviction/controller":  nil,
	"timedqueue/feed":      {"eviction/controller"},
}

// edgeFiles lists the files that act, and why each must. Everything else in a
// room, its tests apart, is core. .golangci.yml repeats the names, except
// those of timelessEdges.
var edgeFiles = map[string]string{
	"timedqueue/dispatcher.go":          "sleeps until the core has a task and has it performed",
	"timedqueue/feed/handler.go":        "is told by an informer, and reads the informer's store",
	"timedqueue/feed/pulse.go":          "checks once a second whether informers have received anything",
	"timedqueue/panics.go":              "logs actions that do not return",
	"timedqueue/workers.go":             "runs the actions on goroutines",
	"taints/apply.go":                   "sends the patch and retries when its guard fails",
	"eviction/act.go":                   "sets the pod's condition, and deletes or evicts the pod",
	"eviction/action.go":                "composes actions",
	"eviction/cause.go":                 "knows the errors of clients, networks and contexts",
	"eviction/controller/controller.go": "runs informers, workers and a client",
	"eviction/controller/informer.go":   "is told by informers",
	"eviction/signal.go":                "tells an action that is under way, on another goroutine",
	"eviction/transport.go":             "is in between when the API server answers",
	"nodehealth/heartbeat/sender.go":    "reads the clock and drives the schedule",
	"nodehealth/heartbeat/act.go":       "calls gates, renews leases and reports statuses",
	"nodehealth/heartbeat/stepper.go":   "has the beats of a simulation sent, at its time",
	"daemon/executor.go":                "creates, deletes and reads pods",
	"daemon/ownership/claimer.go":       "adopts and releases",
	"daemon/revision/manager.go":        "writes revisions",
}

// timelessEdges are the edges that only call out, so that a simulator can drive
// them in virtual time. They neither read a clock nor wait, and start no
// goroutine. Each is a file of edgeFiles, or a folder of a program.
var timelessEdges = []string{
	"eviction/act.go", "eviction/action.go",
	"examples/daemonset/edge", "examples/hollownode/edge", "examples/nodelifecycle/edge",
	"daemon/ownership/claimer.go", "daemon/revision/manager.go", "nodehealth/heartbeat/stepper.go",
	"timedqueue/feed/handler.go",
	// And the simulators themselves, whose runs have to be the same each time. Two
	// files of each simulation are left out: one hands contexts to the edges, one
	// forges the readings of clocks or the errors of networks.
	"examples/simulation/apiserver",
	"examples/daemonset/simulation/client.go", "examples/daemonset/simulation/cluster.go",
	"examples/daemonset/simulation/collector.go", "examples/daemonset/simulation/kubelet.go",
	"examples/daemonset/simulation/process.go", "examples/daemonset/simulation/scenario.go",
	"examples/daemonset/simulation/script.go", "examples/daemonset/simulation/simulation.go",
	"examples/daemonset/simulation/watch.go",
	"examples/hollownode/simulation/cluster.go", "examples/hollownode/simulation/nodes.go",
	"examples/hollownode/simulation/pods.go", "examples/hollownode/simulation/runtime.go",
	"examples/hollownode/simulation/scenario.go", "examples/hollownode/simulation/script.go",
	"examples/hollownode/simulation/simulation.go",
	"examples/outage/model", "examples/outage/simulation/election.go",
	"examples/outage/simulation/replica.go", "examples/outage/simulation/script.go",
	"examples/outage/simulation/simulation.go",
	"examples/simulation/virtualtime",
}

// programCores are folders of programs that only decide.
var programCores = []string{
	"examples/controllerruntime/failover/config.go", "examples/controllerruntime/failover/convert.go",
	"examples/controllerruntime/failover/core.go", "examples/controllerruntime/failover/halt.go",
	"examples/controllerruntime/failover/task.go",
	"examples/daemonset/controller", "examples/daemonset/explore", "examples/daemonset/invariant",
	"examples/process/evicting",
	"examples/hollownode/cri", "examples/hollownode/explore", "examples/hollownode/invariant",
	"examples/hollownode/kubelet",
	"examples/nodelifecycle/controller", "examples/nodelifecycle/options",
	"examples/outage/cluster/budgets.go", "examples/outage/cluster/import.go",
	"examples/outage/cluster/names.go",
	"examples/outage/cluster/nodes.go", "examples/outage/cluster/objects.go",
	"examples/outage/cluster/pools.go", "examples/outage/cluster/settings.go",
	"examples/outage/cluster/tolerations.go", "examples/outage/cluster/workloads.go",
	"examples/outage/exhaustive/schedule.go",
	"examples/outage/explore", "examples/outage/invariant",
	"examples/process/htmlpage/page.go", "examples/process/htmlpage/view.go", "examples/outage/page",
	"examples/outage/report", "examples/outage/scenario",
	"examples/process/commandline/checks.go", "examples/process/commandline/replica.go",
	"examples/scheduler/fit", "examples/scheduler/scheduling",
	"examples/process/shadow/facts.go", "examples/process/shadow/history.go", "examples/process/shadow/merge.go",
	"examples/process/shadow/record.go", "examples/process/shadow/world.go",
}

// typedPrograms are packages of programs that keep the rooms' rules about
// layers and about the one engine.
var typedPrograms = []string{
	"examples/daemonset/controller", "examples/hollownode/cri", "examples/hollownode/kubelet",
	"examples/nodelifecycle/controller", "examples/scheduler/fit", "examples/scheduler/scheduling",
}

// undrawnPackages do not draw their layers yet. This list shrinks: an entry
// whose package draws them and keeps to them is a failure.
var undrawnPackages = []string{}

// queueUsers are the packages in which whatever waits for a time waits in a
// timedqueue.Queue. Two rooms are excepted. Zone imports nothing of ours and
// its times are a caller's to wait for. Daemon's planner may rank candidates in
// a heap, because they wait for no time.
var queueUsers = []string{
	"eviction", "examples/daemonset/controller", "examples/hollownode/cri",
	"examples/hollownode/kubelet", "examples/nodelifecycle/controller",
	"examples/scheduler/scheduling", "nodehealth", "nodehealth/heartbeat",
}

// dueWords are words in the name of a time at which something becomes due.
var dueWords = []string{"deadline", "due", "end", "expires", "expiry", "wake"}

// duePhrases are such names of several words, written together.
var duePhrases = []string{"nextattempt", "notbefore", "retryat"}

// engineExceptions are the declarations that do what only timedqueue should,
// and why. An entry for one that no longer does is a failure.
var engineExceptions = map[string]string{
	"eviction/deadline.go Decision.DueAt": "answers a caller, and nothing waits for it",
	"eviction/deadline.go ruling.dueAt":   "decides whether a condition is set or cleared",

	"nodehealth/heartbeat/schedule.go record.reportCause": "chooses the reason of a report that goes out now",
	"nodehealth/monitor.go Monitor.StartWithin":           "puts a key that was heard back into its queue",
	"nodehealth/sight.go sight.seen":                      "bounds the clock of a queue, and nothing waits for it",
}

// unprefixedEnums are exported types whose constants do not begin with their
// name yet. This list shrinks: an entry whose constants do is a failure.
var unprefixedEnums = map[string]string{
	"zone State": "has the names of kube-controller-manager",
}

// unlikeConstructors are exported functions New... of cores that are not as the
// others: some will be, some make no core. An entry that is no longer needed is
// a failure. NewDispatcher, which takes what it infers types from, is in an
// edge.
var unlikeConstructors = map[string]string{
	"daemon NewPod":                 "makes an object of the API, no core",
	"daemon/ownership NewOwnership": "has one setting, the owner",
	"daemon/revision New":           "makes an object of the API, no core",
}

// longSentences are folders with comments that break the length of sentences.
// This list shrinks: an entry whose comments all keep to it is a failure.
var longSentences = []string{
	"examples/e2e/conformance", "examples/e2e/daemonset",
	"examples/simulation/memory", "examples/outage/model",
}

// strictPackages keep the stricter rules of prose as well: the length of
// sentences, plain phrases, one meaning a word, in messages and names too. This
// list grows until it holds all packages.
var strictPackages = []string{
	"daemon", "daemon/ownership", "daemon/revision", "eviction", "eviction/controller", "nodehealth",
	"nodehealth/heartbeat", "taints", "timedqueue", "timedqueue/feed", "zone",
	"examples/daemonset/explore", "examples/daemonset/invariant", "examples/daemonset/simulation",
	"examples/process/evicting", "examples/process/evicting/evictionreport", "examples/hollownode/cri",
	"examples/hollownode/edge", "examples/hollownode/explore", "examples/hollownode/invariant",
	"examples/hollownode/kubelet", "examples/hollownode/metrics", "examples/hollownode/runner",
	"examples/hollownode/simulation", "examples/simulation/mutant",
	"examples/nodelifecycle/controller", "examples/nodelifecycle/edge", "examples/nodelifecycle/options",
	"examples/process",
	"examples/process/alerts", "examples/process/commandline", "examples/process/serving",
	"examples/simulation/seeds", "examples/process/shadow", "examples/tainteviction", "examples/simulation/virtualtime",
}

// personalWords make a person of what is an object, or are not plain.
var personalWords = []string{
	"anew", "beside", "everybody", "he", "him", "himself", "his", "nobody",
	"somebody", "who", "whoever", "whom",
}

// roundaboutPhrases are regular expressions for what has a plainer word: again,
// except, records, the result of, whose, for example.
var roundaboutPhrases = []string{
	`but for\b`, `tak(es?|ing) note\b`, `took note\b`, `what (came|comes) of\b`, `of whose\b`,
	`in the stead\b`, `, say[,.]`, `say$`,
}

// severalMeanings are words that once meant different things in different
// packages, with the packages that may use each. There it has one meaning. To
// confirm is to check by a live read. A judge checks the invariants of random
// histories. A queue settles the tokens of an action. A share is the part of a
// budget for one name and, in names of flags, a fraction of the nodes. To spare
// a pod is to exempt it from eviction. A word without a package has no meaning
// left.
var severalMeanings = map[string][]string{
	"confirm": {
		"eviction", "zone",
		"examples/process/evicting", "examples/nodelifecycle/controller", "examples/nodelifecycle/options",
		"examples/tainteviction",
	},
	"judge":  {"daemon", "examples/daemonset/invariant"},
	"look":   nil,
	"settle": {"timedqueue", "examples/nodelifecycle/controller", "examples/tainteviction"},
	"share": {
		"eviction", "nodehealth", "timedqueue",
		"examples/nodelifecycle/controller", "examples/nodelifecycle/options",
	},
	"spare": {
		"examples/process/evicting", "examples/nodelifecycle/controller", "examples/nodelifecycle/options",
		"examples/process/shadow", "examples/tainteviction",
	},
}

// topLevel is what the repository's root may hold, names with a leading dot
// apart.
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

// withoutClientGo are the rooms that must not link client-go, however
// indirectly.
var withoutClientGo = []string{"timedqueue", "taints", "zone"}

// withClientGo are subfolders of those rooms that exist to link it.
var withClientGo = []string{"timedqueue/feed"}

// allowedModules are the prefixes of import paths outside the standard library
// that a room may use. Importers of the library get these modules and no
// others.
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
	// widestComment is the most columns of a line that holds only a comment.
	// widestCode is that of any other line in a room, and widestProgram in a
	// program. A tab is one column, so that a text may be moved into a block
	// without being broken again.
	widestComment = 80
	widestCode    = 100
	widestProgram = 120
	// longestSentence is the most words of a sentence in a comment.
	longestSentence = 25
	// shortestPackageDoc is the fewest lines with text that introduce a package.
	shortestPackageDoc = 10
)

// bannedImport is an import path, with everything below it, and what it would
// let into a file.
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

// coreNames say which names of a package a core file may use. They are all but
// those of deny or, where deny is empty, only those of allow.
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

// limiterMethods are those of rate.Limiter that read the clock or wait. The
// number of arguments tells them from methods that take the time: Allow() and
// AllowN(now, n), SetLimit(l) and SetLimitAt(now, l). They are sought in files
// that import golang.org/x/time/rate.
var limiterMethods = map[string]int{
	"Allow":    0,
	"Reserve":  0,
	"Tokens":   0,
	"Wait":     1,
	"WaitN":    2,
	"SetBurst": 1,
	"SetLimit": 1,
}
