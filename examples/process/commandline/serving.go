package commandline

import (
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Serving says how a process is reached, and by which callers. Names, defaults
// and meanings of the flags are those of kube-controller-manager v1.37, the
// port apart. Package serving acts on them.
type Serving struct {
	// SecurePort is where HTTPS is served, 0 for nowhere.
	SecurePort int
	// BindAddress is the address of the port. An unspecified one stands for all.
	BindAddress net.IP

	// TLSCertFile and TLSPrivateKeyFile hold the certificate and its key. Empty is
	// a self-signed certificate in memory.
	TLSCertFile, TLSPrivateKeyFile string
	// TLSMinVersion is one of the keys of TLSVersions, empty for TLS 1.2.
	TLSMinVersion string
	// TLSCipherSuites are names of package crypto/tls, none for its defaults.
	TLSCipherSuites []string

	Authentication Authentication
	Authorization  Authorization
}

// Authentication says how a caller shows its identity.
type Authentication struct {
	// Kubeconfig reaches the API server that reviews tokens. Empty is the cluster
	// that the process runs in.
	Kubeconfig string
	// CacheTTL is how long the answer about a token holds.
	CacheTTL time.Duration
	// ClientCAFile holds the authorities of client certificates.
	ClientCAFile  string
	RequestHeader RequestHeader
	// SkipLookup leaves out what the cluster says of authorities, and
	// TolerateLookupFailure starts without it.
	SkipLookup, TolerateLookupFailure bool
}

// RequestHeader says which proxies may name a caller in headers, and in which.
type RequestHeader struct {
	UsernameHeaders, UIDHeaders, GroupHeaders []string
	ExtraHeaderPrefixes                       []string
	// ClientCAFile holds the authorities of the proxies' certificates.
	ClientCAFile string
	// AllowedNames are the common names of the proxies. None allows each
	// certificate of the authorities.
	AllowedNames []string
}

// Authorization says which callers may read which page.
type Authorization struct {
	// Kubeconfig reaches the API server that is asked. Empty is the cluster that
	// the process runs in.
	Kubeconfig string
	// AlwaysAllowPaths are answered without a question about the caller. A path
	// may end in *.
	AlwaysAllowPaths []string
	// AllowTTL and DenyTTL are how long the two answers hold.
	AllowTTL, DenyTTL time.Duration
}

// TLSVersions are the values of --tls-min-version.
var TLSVersions = map[string]uint16{
	"VersionTLS10": tls.VersionTLS10,
	"VersionTLS11": tls.VersionTLS11,
	"VersionTLS12": tls.VersionTLS12,
	"VersionTLS13": tls.VersionTLS13,
}

// CipherSuite returns the number of the cipher suite with this name.
func CipherSuite(name string) (id uint16, ok bool) {
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if suite.Name == name {
			return suite.ID, true
		}
	}
	return 0, false
}

// AddFlags adds the flags and sets their fields to the defaults.
func (s *Serving) AddFlags(flags *pflag.FlagSet, port int) {
	flags.IntVar(&s.SecurePort, "secure-port", port,
		"The port on which HTTPS is served with authentication and authorization. 0 serves nothing.")
	flags.IPVar(&s.BindAddress, "bind-address", net.IPv4zero, "The IP address on which to listen for --secure-port. An "+
		"unspecified one (0.0.0.0 or ::) stands for all interfaces and IP families.")
	flags.StringVar(&s.TLSCertFile, "tls-cert-file", "", "File with the x509 certificate for HTTPS, those of its "+
		"authorities after it. It is read again when it changes. Without it there is a self-signed certificate in memory.")
	flags.StringVar(&s.TLSPrivateKeyFile, "tls-private-key-file", "", "File with the private key of --tls-cert-file.")
	flags.StringVar(&s.TLSMinVersion, "tls-min-version", "",
		"The lowest TLS version: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. Without it TLS 1.2.")
	flags.StringSliceVar(&s.TLSCipherSuites, "tls-cipher-suites", nil,
		"Cipher suites up to TLS 1.2, with the names of Go's package crypto/tls. Without it Go's defaults.")

	n := &s.Authentication
	flags.StringVar(&n.Kubeconfig, "authentication-kubeconfig", "",
		"Kubeconfig of the API server that reviews the tokens of callers. Without it the cluster that the program runs in, "+
			"and outside of one no token is accepted.")
	flags.DurationVar(&n.CacheTTL, "authentication-token-webhook-cache-ttl", 10*time.Second,
		"How long the answer about a token holds.")
	flags.StringVar(&n.ClientCAFile, "client-ca-file", "", "File with the authorities whose client certificates are "+
		"accepted; the common name is the user. Without it they are those of the cluster, in the ConfigMap "+
		"kube-system/extension-apiserver-authentication.")
	h := &n.RequestHeader
	flags.StringSliceVar(&h.UsernameHeaders, "requestheader-username-headers", []string{"x-remote-user"},
		"Headers in which a proxy names the user.")
	flags.StringSliceVar(&h.UIDHeaders, "requestheader-uid-headers", nil,
		"Headers in which a proxy gives the UID of the user. X-Remote-Uid is usual.")
	flags.StringSliceVar(&h.GroupHeaders, "requestheader-group-headers", []string{"x-remote-group"},
		"Headers in which a proxy names the groups of the user.")
	flags.StringSliceVar(&h.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", []string{"x-remote-extra-"},
		"Prefixes of headers in which a proxy says more about the user.")
	flags.StringVar(&h.ClientCAFile, "requestheader-client-ca-file", "",
		"File with the authorities of the proxies whose headers are believed. Without it they, and the names of the "+
			"headers, are those of the cluster.")
	flags.StringSliceVar(&h.AllowedNames, "requestheader-allowed-names", nil,
		"Common names of the proxies' certificates. Without it each of --requestheader-client-ca-file is allowed.")
	flags.BoolVar(&n.SkipLookup, "authentication-skip-lookup", false,
		"Do not read from the cluster which authorities to trust.")
	flags.BoolVar(&n.TolerateLookupFailure, "authentication-tolerate-lookup-failure", false,
		"Start although that lookup fails. Client certificates are then not accepted until the cluster has told them.")

	z := &s.Authorization
	flags.StringVar(&z.Kubeconfig, "authorization-kubeconfig", "",
		"Kubeconfig of the API server that is asked what a caller may do. Without it the cluster that the program runs in, "+
			"and outside of one only the group system:masters may read more than --authorization-always-allow-paths.")
	flags.DurationVar(&z.AllowTTL, "authorization-webhook-cache-authorized-ttl", 10*time.Second,
		"How long the answer holds that a caller may.")
	flags.DurationVar(&z.DenyTTL, "authorization-webhook-cache-unauthorized-ttl", 10*time.Second,
		"How long the answer holds that a caller may not.")
	flags.StringSliceVar(&z.AlwaysAllowPaths, "authorization-always-allow-paths",
		[]string{"/healthz", "/readyz", "/livez"}, "Paths that are answered to every caller. One may end in *.")
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (s *Serving) Check(c *Checks) {
	c.That(0 <= s.SecurePort && s.SecurePort <= 65535, "--secure-port is %d, want 0 to 65535", s.SecurePort)
	c.That(s.TLSCertFile != "" || s.TLSPrivateKeyFile == "",
		"--tls-private-key-file is given without --tls-cert-file, want both or neither")
	c.That(s.TLSPrivateKeyFile != "" || s.TLSCertFile == "",
		"--tls-cert-file is given without --tls-private-key-file, want both or neither")
	_, known := TLSVersions[s.TLSMinVersion]
	c.That(known || s.TLSMinVersion == "",
		"--tls-min-version is %q, want VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13", s.TLSMinVersion)
	for _, name := range s.TLSCipherSuites {
		_, known := CipherSuite(name)
		c.That(known, "--tls-cipher-suites has %q, want names of package crypto/tls like %s", name,
			tls.CipherSuites()[0].Name)
	}

	n := &s.Authentication
	c.notNegative("authentication-token-webhook-cache-ttl", n.CacheTTL)
	h := &n.RequestHeader
	c.noneBlank("requestheader-username-headers", h.UsernameHeaders)
	c.noneBlank("requestheader-uid-headers", h.UIDHeaders)
	c.noneBlank("requestheader-group-headers", h.GroupHeaders)
	c.noneBlank("requestheader-extra-headers-prefix", h.ExtraHeaderPrefixes)
	c.noneBlank("requestheader-allowed-names", h.AllowedNames)

	z := &s.Authorization
	c.notNegative("authorization-webhook-cache-authorized-ttl", z.AllowTTL)
	c.notNegative("authorization-webhook-cache-unauthorized-ttl", z.DenyTTL)
	for _, path := range z.AlwaysAllowPaths {
		c.That(strings.HasPrefix(path, "/"), "--authorization-always-allow-paths has %q, want a path that begins with /",
			path)
		c.That(!strings.Contains(strings.TrimSuffix(path, "*"), "*"),
			"--authorization-always-allow-paths has %q, want a * at the end only", path)
	}
}

func (c *Checks) notNegative(flag string, value time.Duration) {
	c.That(value >= 0, "--%s is %v, want zero or more", flag, value)
}

func (c *Checks) noneBlank(flag string, values []string) {
	for _, value := range values {
		c.That(strings.TrimSpace(value) != "", "--%s has an empty value", flag)
	}
}
