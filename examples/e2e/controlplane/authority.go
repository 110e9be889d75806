package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// credentialLifetime is far longer than a test, and short enough that a
// forgotten kubeconfig is worth nothing.
const credentialLifetime = 7 * 24 * time.Hour

// authority is the certificate authority of one control plane: it vouches for
// the API server to clients, and for users to the API server. Its key never
// leaves memory.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte // the certificate
}

func newAuthority() (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "controlplane", NotBefore: notBefore()}, key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate authority: %w", err)
	}
	pem, err := cert.EncodeCertificates(certificate)
	return &authority{key: key, certificate: certificate, pem: pem}, err
}

// client certifies a user: Kubernetes takes the common name as the user's name
// and the organizations as the groups.
func (a *authority) client(user string, groups []string) (certificate, key []byte, err error) {
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// sign makes a key and certifies it as the template says. Both are in PEM.
func (a *authority) sign(template *x509.Certificate) (certificate, key []byte, err error) {
	template.NotBefore, template.NotAfter = notBefore(), time.Now().Add(credentialLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	own, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	// The serial number is x509's choice, at random.
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, own.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing the certificate of %q: %w", template.Subject.CommonName, err)
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(own); err != nil {
		return nil, nil, err
	}
	certificate, err = cert.EncodeCertificates(&x509.Certificate{Raw: der})
	return certificate, key, err
}

// notBefore is an hour ago, because clocks step.
func notBefore() time.Time { return time.Now().Add(-time.Hour) }

// newKey makes an elliptic key: an RSA key would take a noticeable part of a
// start.
func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

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
	// The names are those under which pods would know the API server.
	certificate, key, err := cp.authority.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
	})
	if err != nil {
		return err
	}
	serviceAccountKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		authorityFile:          cp.authority.pem,
		servingCertificateFile: certificate,
		servingKeyFile:         key,
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
