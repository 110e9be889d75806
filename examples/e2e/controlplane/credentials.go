package controlplane

import (
	"os"
	"path/filepath"
)

// The files that the API server reads, in the data folder.
const (
	authorityFile          = "ca.crt"
	servingCertificateFile = "kube-apiserver.crt"
	servingKeyFile         = "kube-apiserver.key"
	serviceAccountKeyFile  = "service-account.key"
	auditPolicyFile        = "audit-policy.yaml"
)

// auditPolicy records every request without its content, both when it comes in,
// before anything is done, and when it is answered. See auditLog for what the
// first is good for.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
`

// writeCredentials makes the keys and writes the files of the API server.
func (cp *ControlPlane) writeCredentials() error {
	var err error
	if cp.authority, err = newAuthority(); err != nil {
		return err
	}
	serving, err := cp.authority.serving()
	if err != nil {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	serviceAccountKey, err := encodeKey(key)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		authorityFile:          cp.authority.pem,
		servingCertificateFile: serving.certificate,
		servingKeyFile:         serving.key,
		serviceAccountKeyFile:  serviceAccountKey,
		auditPolicyFile:        []byte(auditPolicy),
	} {
		if err := os.WriteFile(cp.file(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) file(name string) string { return filepath.Join(cp.dir, name) }
