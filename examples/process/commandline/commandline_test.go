package commandline_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// settings are all flags of this package.
type settings struct {
	process commandline.Process
	replica commandline.Replica
}

func (s *settings) flags() *pflag.FlagSet {
	s.process.Name, s.process.Port = "tester", 10999
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	s.process.AddFlags(flags)
	s.replica.AddFlags(flags)
	return flags
}

func (s *settings) check() error {
	var c commandline.Checks
	s.process.Check(&c)
	s.replica.Check(&c)
	return c.Err()
}

// What a program does not say itself is as in kube-controller-manager v1.37.
func TestDefaults(t *testing.T) {
	var s settings
	flags := s.flags()
	want := map[string]string{
		"kubeconfig": "", "master": "", "v": "0", "logging-format": "text", "feature-gates": "[]",
		"secure-port": "10999", "bind-address": "0.0.0.0",
		"tls-cert-file": "", "tls-private-key-file": "", "tls-min-version": "", "tls-cipher-suites": "[]",
		"authentication-kubeconfig": "", "authentication-token-webhook-cache-ttl": "10s", "client-ca-file": "",
		"requestheader-username-headers": "[x-remote-user]", "requestheader-uid-headers": "[]",
		"requestheader-group-headers": "[x-remote-group]", "requestheader-extra-headers-prefix": "[x-remote-extra-]",
		"requestheader-client-ca-file": "", "requestheader-allowed-names": "[]",
		"authentication-skip-lookup": "false", "authentication-tolerate-lookup-failure": "false",
		"authorization-kubeconfig": "", "authorization-always-allow-paths": "[/healthz,/readyz,/livez]",
		"authorization-webhook-cache-authorized-ttl": "10s", "authorization-webhook-cache-unauthorized-ttl": "10s",
		"leader-elect-resource-name": "tester", "leader-elect-resource-namespace": "kube-system",
		"shadow": "false", "shadow-tolerance": "5s",
		"kube-api-qps": "20", "kube-api-burst": "30", "leader-elect": "true",
		"leader-elect-lease-duration": "15s", "leader-elect-renew-deadline": "10s", "leader-elect-retry-period": "2s",
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		require.Equal(t, want[flag.Name], flag.DefValue, flag.Name)
		require.NotEmpty(t, flag.Usage, flag.Name)
		delete(want, flag.Name)
	})
	require.Empty(t, want)
	require.NoError(t, s.check())
}

// Each flag sets one field, and no other.
func TestEachFlagSetsItsField(t *testing.T) {
	var s settings
	require.NoError(t, s.flags().Parse([]string{
		"--kubeconfig=a", "--master=b", "-v=4", "--logging-format=json", "--feature-gates=",
		"--secure-port=1", "--bind-address=10.0.0.7", "--tls-cert-file=f", "--tls-private-key-file=g",
		"--tls-min-version=VersionTLS13", "--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA",
		"--authentication-kubeconfig=h", "--authentication-token-webhook-cache-ttl=7s", "--client-ca-file=i",
		"--requestheader-username-headers=j,k", "--requestheader-uid-headers=l", "--requestheader-group-headers=m",
		"--requestheader-extra-headers-prefix=n", "--requestheader-client-ca-file=o", "--requestheader-allowed-names=p",
		"--authentication-skip-lookup", "--authentication-tolerate-lookup-failure",
		"--authorization-kubeconfig=q", "--authorization-always-allow-paths=/r,/s/*",
		"--authorization-webhook-cache-authorized-ttl=8s", "--authorization-webhook-cache-unauthorized-ttl=9s",
		"--leader-elect-resource-name=d", "--leader-elect-resource-namespace=e",
		"--shadow", "--shadow-tolerance=2s",
		"--kube-api-qps=2", "--kube-api-burst=3", "--leader-elect=false",
		"--leader-elect-retry-period=4s", "--leader-elect-renew-deadline=5s", "--leader-elect-lease-duration=6s",
	}))
	require.Equal(t, settings{
		process: commandline.Process{
			Name: "tester", Port: 10999,
			Kubeconfig: "a", Master: "b", Verbosity: 4, LoggingFormat: "json", FeatureGates: []string{},
			LeaseName: "d", LeaseNamespace: "e",
			Shadow: true, ShadowTolerance: 2 * time.Second,
			Serving: commandline.Serving{
				SecurePort: 1, BindAddress: net.ParseIP("10.0.0.7"), TLSCertFile: "f", TLSPrivateKeyFile: "g",
				TLSMinVersion:   "VersionTLS13",
				TLSCipherSuites: []string{"TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA"},
				Authentication: commandline.Authentication{
					Kubeconfig: "h", CacheTTL: 7 * time.Second, ClientCAFile: "i",
					RequestHeader: commandline.RequestHeader{
						UsernameHeaders: []string{"j", "k"}, UIDHeaders: []string{"l"}, GroupHeaders: []string{"m"},
						ExtraHeaderPrefixes: []string{"n"}, ClientCAFile: "o", AllowedNames: []string{"p"},
					},
					SkipLookup: true, TolerateLookupFailure: true,
				},
				Authorization: commandline.Authorization{
					Kubeconfig: "q", AlwaysAllowPaths: []string{"/r", "/s/*"},
					AllowTTL: 8 * time.Second, DenyTTL: 9 * time.Second,
				},
			},
		},
		replica: commandline.Replica{APIQPS: 2, APIBurst: 3, LeaderElection: commandline.LeaderElection{
			Elect: false, LeaseDuration: 6 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 4 * time.Second,
		}},
	}, s)
	require.NoError(t, s.check())
}

func TestWrongValues(t *testing.T) {
	for args, says := range map[string]string{
		"--secure-port=-1":    "--secure-port is -1, want 0 to 65535",
		"--secure-port=65536": "--secure-port is 65536, want 0 to 65535",
		"--tls-cert-file=c": "--tls-cert-file is given without --tls-private-key-file, " +
			"want both or neither",
		"--tls-private-key-file=k": "--tls-private-key-file is given without --tls-cert-file, " +
			"want both or neither",
		"--tls-min-version=1.2": `--tls-min-version is "1.2", want VersionTLS10, ` +
			`VersionTLS11, VersionTLS12 or VersionTLS13`,
		"--tls-cipher-suites=DES": `--tls-cipher-suites has "DES", want names of package ` +
			`crypto/tls like TLS_AES_128_GCM_SHA256`,
		"--requestheader-username-headers= ":     "--requestheader-username-headers has an empty value",
		"--requestheader-uid-headers=a,":         "--requestheader-uid-headers has an empty value",
		"--requestheader-group-headers=,a":       "--requestheader-group-headers has an empty value",
		"--requestheader-allowed-names= ":        "--requestheader-allowed-names has an empty value",
		"--requestheader-extra-headers-prefix= ": "--requestheader-extra-headers-prefix has an empty value",
		"--authentication-token-webhook-cache-ttl=-1s": "--authentication-token-webhook-cache-ttl is -1s, want zero " +
			"or more",
		"--authorization-webhook-cache-authorized-ttl=-1s": "--authorization-webhook-cache-authorized-ttl is -1s, want " +
			"zero or more",
		"--authorization-webhook-cache-unauthorized-ttl=-1s": "--authorization-webhook-cache-unauthorized-ttl is -1s, want " +
			"zero or more",
		"--authorization-always-allow-paths=healthz": `--authorization-always-allow-paths has "healthz", want a ` +
			`path that begins with /`,
		"--authorization-always-allow-paths=/a*b": `--authorization-always-allow-paths has "/a*b", want a * at ` +
			`the end only`,
		"-v=-1":                 "--v is -1, want zero or more",
		"--logging-format=JSON": `--logging-format is "JSON", want text or json`,
		"--logging-format=":     `--logging-format is "", want text or json`,
		"--feature-gates=Foo=true,Bar=false": `--feature-gates is "Foo=true,Bar=false", want none: this program has no ` +
			`feature gates`,
		"--leader-elect-resource-name=":      "--leader-elect-resource-name is empty, want a name",
		"--leader-elect-resource-namespace=": "--leader-elect-resource-namespace is empty, want a name",
		"--leader-elect-resource-name=Bad Name": `--leader-elect-resource-name is "Bad Name", want a DNS subdomain: ` +
			"lowercase letters, digits, - and .",
		"--leader-elect-resource-namespace=a.b": `--leader-elect-resource-namespace is "a.b", want a DNS label: ` +
			"lowercase letters, digits and -",
		"--kube-api-qps=0":   "--kube-api-qps is 0, want more than 0",
		"--kube-api-qps=NaN": "--kube-api-qps is NaN, want more than 0",
		"--kube-api-burst=0": "--kube-api-burst is 0, want at least 1",
		"--leader-elect-renew-deadline=15s": "--leader-elect-renew-deadline 15s must be less than " +
			"--leader-elect-lease-duration 15s",
		"--leader-elect-renew-deadline=2s": "--leader-elect-renew-deadline 2s must be more than 1.2 times " +
			"--leader-elect-retry-period 2s",
		"--leader-elect-retry-period=0s": "--leader-elect-retry-period is 0s, want a positive duration",
		"--shadow-tolerance=-1s":         "--shadow-tolerance is -1s, want zero or more",
	} {
		var s settings
		require.NoError(t, s.flags().Parse([]string{args}))
		require.EqualError(t, s.check(), says)
	}
}

// A second flag takes back nothing that the first asked for.
func TestFeatureGatesAreNeverIgnored(t *testing.T) {
	var s settings
	require.NoError(t, s.flags().Parse([]string{"--feature-gates=Foo=true", "--feature-gates="}))
	require.ErrorContains(t, s.check(), `--feature-gates is "Foo=true", want none`)
}

// All that is wrong is said at once, in the order of the flags, and can be
// taken apart.
func TestErrorsAreOneListInTheOrderOfTheFlags(t *testing.T) {
	var s settings
	s.process.Serving.SecurePort, s.process.Serving.TLSMinVersion = -1, "1"
	s.process.Serving.Authorization.AlwaysAllowPaths = []string{"a"}
	err := s.check()
	var said []string
	for line := range strings.Lines(err.Error()) {
		flag, _, _ := strings.Cut(line, " ")
		said = append(said, strings.TrimRight(flag, ":"))
	}
	require.Equal(t, []string{
		"--secure-port", "--tls-min-version", "--authorization-always-allow-paths", "--logging-format",
		"--leader-elect-resource-name", "--leader-elect-resource-namespace",
		"--kube-api-qps", "--kube-api-burst", "--leader-elect-lease-duration", "--leader-elect-renew-deadline",
		"--leader-elect-renew-deadline", "--leader-elect-renew-deadline", "--leader-elect-retry-period",
	}, said)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, joined.Unwrap(), len(said))
}

func TestC7AShadowHasALeaseOfItsOwn(t *testing.T) {
	for args, lease := range map[string]string{
		"":         "tester",
		"--shadow": "tester-shadow",
		"--leader-elect-resource-name=x --shadow": "x-shadow",
	} {
		var s settings
		require.NoError(t, s.flags().Parse(strings.Fields(args)))
		require.Equal(t, lease, s.process.Lease(), args)
	}
}
