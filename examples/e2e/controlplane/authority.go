package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"
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

// keyPair is a certificate and its private key, both in PEM.
type keyPair struct {
	certificate, key []byte
}

func newAuthority() (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(pkix.Name{CommonName: "controlplane"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{key: key, certificate: certificate, pem: pemBlock("CERTIFICATE", der)}, nil
}

// serving certifies the API server at the loopback address and at the names
// under which pods would know it.
func (a *authority) serving() (keyPair, error) {
	template := certificateTemplate(pkix.Name{CommonName: "kube-apiserver"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	return a.sign(template)
}

// client certifies a user: Kubernetes takes the common name as the user's name
// and the organizations as the groups.
func (a *authority) client(user string, groups []string) (keyPair, error) {
	template := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("signing the certificate of %q: %w", template.Subject.CommonName, err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{certificate: pemBlock("CERTIFICATE", der), key: encoded}, nil
}

// newKey makes an elliptic key: an RSA key would take a noticeable part of a
// start.
func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pemBlock("EC PRIVATE KEY", der), nil
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   subject,             // the serial number is x509's choice, at random
		NotBefore: now.Add(-time.Hour), // clocks step
		NotAfter:  now.Add(credentialLifetime),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
