package commandline_test

import (
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
	sharing commandline.Sharing
}

func (s *settings) flags() *pflag.FlagSet {
	s.process.Name, s.process.Port = "tester", 10999
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	s.process.AddFlags(flags)
	s.sharing.AddFlags(flags)
	return flags
}

func (s *settings) check() error {
	var c commandline.Checks
	s.process.Check(&c)
	s.sharing.Check(&c)
	return c.Err()
}

// What a program does not say itself is as in kube-controller-manager v1.37.
func TestDefaults(t *testing.T) {
	var s settings
	flags := s.flags()
	want := map[string]string{
		"kubeconfig": "", "master": "", "metrics-bind-address": ":10999", "v": "0",
		"leader-elect-resource-name": "tester", "leader-elect-resource-namespace": "kube-system",
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
		"--kubeconfig=a", "--master=b", "--metrics-bind-address=c:1", "-v=4",
		"--leader-elect-resource-name=d", "--leader-elect-resource-namespace=e",
		"--kube-api-qps=2", "--kube-api-burst=3", "--leader-elect=false",
		"--leader-elect-retry-period=4s", "--leader-elect-renew-deadline=5s", "--leader-elect-lease-duration=6s",
	}))
	require.Equal(t, settings{
		process: commandline.Process{
			Name: "tester", Port: 10999,
			Kubeconfig: "a", Master: "b", BindAddress: "c:1", Verbosity: 4, LeaseName: "d", LeaseNamespace: "e",
		},
		sharing: commandline.Sharing{APIQPS: 2, APIBurst: 3, LeaderElection: commandline.LeaderElection{
			Elect: false, LeaseDuration: 6 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 4 * time.Second,
		}},
	}, s)
	require.NoError(t, s.check())
}

func TestWrongValues(t *testing.T) {
	for args, says := range map[string]string{
		"--metrics-bind-address=localhost":   "--metrics-bind-address: address localhost: missing port in address",
		"--leader-elect-resource-name=":      "--leader-elect-resource-name is empty, want a name",
		"--leader-elect-resource-namespace=": "--leader-elect-resource-namespace is empty, want a name",
		"--kube-api-qps=0":                   "--kube-api-qps is 0, want more than 0",
		"--kube-api-qps=NaN":                 "--kube-api-qps is NaN, want more than 0",
		"--kube-api-burst=0":                 "--kube-api-burst is 0, want at least 1",
		"--leader-elect-renew-deadline=15s":  "--leader-elect-renew-deadline 15s must be less than --leader-elect-lease-duration 15s",
		"--leader-elect-renew-deadline=2s":   "--leader-elect-renew-deadline 2s must be more than 1.2 times --leader-elect-retry-period 2s",
		"--leader-elect-retry-period=0s":     "--leader-elect-retry-period is 0s, want a positive duration",
	} {
		var s settings
		require.NoError(t, s.flags().Parse([]string{args}))
		require.EqualError(t, s.check(), says)
	}
}

// All that is wrong is said at once, in the order of the flags, and can be taken
// apart.
func TestErrorsAreOneListInTheOrderOfTheFlags(t *testing.T) {
	err := new(settings).check()
	var said []string
	for line := range strings.Lines(err.Error()) {
		flag, _, _ := strings.Cut(line, " ")
		said = append(said, strings.TrimRight(flag, ":"))
	}
	require.Equal(t, []string{
		"--metrics-bind-address", "--leader-elect-resource-name", "--leader-elect-resource-namespace",
		"--kube-api-qps", "--kube-api-burst", "--leader-elect-lease-duration", "--leader-elect-renew-deadline",
		"--leader-elect-renew-deadline", "--leader-elect-renew-deadline", "--leader-elect-retry-period",
	}, said)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, joined.Unwrap(), len(said))
}
