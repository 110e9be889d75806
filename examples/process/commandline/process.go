// Package commandline holds the flags that every controller program here has,
// with the same names, defaults and errors. It runs nothing and links no
// client, so that a simulator can read them.
package commandline

import (
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Process says how a process reaches a cluster and is reached. A program sets
// Name, Port and WithoutShadow; all else are flags.
type Process struct {
	// Name is the program's: the user agent of its requests and, unless a flag
	// says otherwise, the name of its leader's lease.
	Name string
	// Port is where it serves its pages unless a flag says otherwise.
	Port int

	Kubeconfig, Master string
	Serving            Serving
	Verbosity          int
	// LoggingFormat is [LoggingText] or [LoggingJSON].
	LoggingFormat string
	// FeatureGates is what was asked of gates. A program here has none, so that
	// any is refused.
	FeatureGates []string
	// LeaseName and LeaseNamespace name the lease of the leader.
	LeaseName, LeaseNamespace string
	// Shadow writes nothing but a lease, and compares what the program would have
	// done with what happens. ShadowTolerance is by how much the two may differ in
	// time and still count as the same.
	Shadow          bool
	ShadowTolerance time.Duration
	// ShadowHTML is the file of the page that a shadow writes at the end. Empty is
	// none.
	ShadowHTML string
	// WithoutShadow says why the program has no shadow. --shadow is then refused,
	// and --help leaves it out. Empty means that it has one.
	WithoutShadow string
}

// Lease returns the name of the leader's lease. A shadow has one of its own, so
// that it never keeps a replica that acts from leading.
func (p *Process) Lease() string {
	if p.Shadow {
		return p.LeaseName + "-shadow"
	}
	return p.LeaseName
}

// The values of --logging-format.
const (
	LoggingText = "text"
	LoggingJSON = "json"
)

// AddFlags adds the flags and sets their fields to the defaults.
func (p *Process) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.Kubeconfig, "kubeconfig", "", "Path to a kubeconfig file with authorization and API server "+
		"location. With neither it nor --master it is the cluster that the program runs in.")
	flags.StringVar(&p.Master, "master", "",
		"The address of the Kubernetes API server. It overrides the one in the kubeconfig.")
	p.Serving.AddFlags(flags, p.Port)
	flags.IntVarP(&p.Verbosity, "v", "v", 0, "Log verbosity: 2 tells about each write, 4 about each decision.")
	flags.StringVar(&p.LoggingFormat, "logging-format", LoggingText,
		"The format of the log: text, or json for one JSON object in each line.")
	flags.StringSliceVar(&p.FeatureGates, "feature-gates", nil, "Refused with any value: this program has no feature "+
		"gates. Those of client-go are environment variables, KUBE_FEATURE_WatchListClient=false for example.")
	flags.StringVar(&p.LeaseName, "leader-elect-resource-name", p.Name, "The name of the lease.")
	flags.StringVar(&p.LeaseNamespace, "leader-elect-resource-namespace", "kube-system", "The namespace of the lease.")
	flags.BoolVar(&p.Shadow, "shadow", false, "Write nothing except a lease, whose name is --leader-elect-resource-name "+
		"with -shadow at its end, so that a shadow never keeps another replica from leading. No Event is recorded. What "+
		"would have been done is compared with what happens in the cluster, at /shadow, in the metrics shadow_*, and in a "+
		"table on standard output at the end.")
	flags.DurationVar(&p.ShadowTolerance, "shadow-tolerance", 5*time.Second,
		"By how much what a shadow would have done and what happens may differ in time and still count as the same.")
	flags.StringVar(&p.ShadowHTML, "shadow-html", "",
		"File to which a shadow writes the page of /shadow?format=html at the end: plots, differences and counts.")
	for _, name := range []string{"shadow", "shadow-tolerance", "shadow-html"} {
		flags.Lookup(name).Hidden = p.WithoutShadow != ""
	}
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (p *Process) Check(c *Checks) {
	p.Serving.Check(c)
	c.That(p.Verbosity >= 0, "--v is %d, want zero or more", p.Verbosity)
	c.That(p.LoggingFormat == LoggingText || p.LoggingFormat == LoggingJSON,
		"--logging-format is %q, want %s or %s", p.LoggingFormat, LoggingText, LoggingJSON)
	c.That(len(p.FeatureGates) == 0, "--feature-gates is %q, want none: this program has no feature gates",
		strings.Join(p.FeatureGates, ","))
	c.That(p.LeaseName != "", "--leader-elect-resource-name is empty, want a name")
	c.That(p.LeaseNamespace != "", "--leader-elect-resource-namespace is empty, want a name")
	// The API server would refuse the lease at each try, and no replica would ever
	// lead.
	c.That(p.LeaseName == "" || len(validation.IsDNS1123Subdomain(p.Lease())) == 0,
		"--leader-elect-resource-name is %q, want a DNS subdomain: lowercase letters, digits, - and .", p.LeaseName)
	c.That(p.LeaseNamespace == "" || len(validation.IsDNS1123Label(p.LeaseNamespace)) == 0,
		"--leader-elect-resource-namespace is %q, want a DNS label: lowercase letters, digits and -", p.LeaseNamespace)
	c.That(!p.Shadow || p.WithoutShadow == "", "--shadow is not supported: %s", p.WithoutShadow)
	c.That(p.ShadowTolerance >= 0, "--shadow-tolerance is %v, want zero or more", p.ShadowTolerance)
	c.That(p.ShadowHTML == "" || p.Shadow, "--shadow-html is %q, want --shadow with it", p.ShadowHTML)
}
