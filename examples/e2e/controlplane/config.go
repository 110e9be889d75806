package controlplane

import (
	"fmt"
	"strings"
	"time"
)

// Config describes a control plane. The zero value is a good one.
type Config struct {
	// Build says where the binaries come from.
	Build BuildConfig
	// Dir is a folder for data, logs and credentials, which is made if need be. It
	// must be empty, because audit logs of an earlier run would be counted. It
	// stays after Stop. The empty string means a new temporary folder that Stop
	// removes.
	Dir string
	// APIServerFlags are further flags of kube-apiserver, named without dashes.
	// They replace this package's choice of the same flag, except those that it
	// relies on (ports, certificates, etcd, audit), which Validate refuses.
	APIServerFlags map[string]string
	// ReadyTimeout is how long etcd, and after it the API server, may each take
	// until ready. Zero means two minutes; a quiet machine needs some four seconds
	// for both. Building does not count.
	ReadyTimeout time.Duration
}

// Validate says what is wrong with the configuration. Start calls it.
func (c Config) Validate() error {
	if c.ReadyTimeout < 0 {
		return fmt.Errorf("ReadyTimeout is negative: %s", c.ReadyTimeout)
	}
	for name := range c.APIServerFlags {
		if name == "" || strings.HasPrefix(name, "-") || strings.Contains(name, "=") {
			return fmt.Errorf("APIServerFlags: %q is not the name of a flag, which has no leading dashes and no value", name)
		}
		if isReserved(name) {
			return fmt.Errorf("APIServerFlags: --%s belongs to this package", name)
		}
	}
	return nil
}

// isReserved says whether the flag carries something that this package relies
// on.
func isReserved(flag string) bool {
	for _, prefix := range []string{"etcd-servers", "audit-", "tls-cert-file", "tls-private-key-file", "client-ca-file",
		"service-account-", "secure-port", "bind-address"} {
		if strings.HasPrefix(flag, prefix) {
			return true
		}
	}
	return false
}

func (c Config) readyTimeout() time.Duration {
	if c.ReadyTimeout == 0 {
		return 2 * time.Minute
	}
	return c.ReadyTimeout
}
