package serving

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// certificates is the server's side of TLS.
type certificates struct {
	config    *tls.Config
	following []func(context.Context)
}

// newCertificates reads the certificate and its key, or makes a pair. A change
// of the files, or of the authorities, which may be nil, changes what the next
// connection gets.
func newCertificates(s *commandline.Serving, authorities dynamiccertificates.CAContentProvider) (*certificates, error) {
	base := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		// The guard decides what a certificate is good for: it may be of a user or of
		// a proxy, and a token needs none.
		ClientAuth: tls.RequestClientCert,
	}
	if version, ok := commandline.TLSVersions[s.TLSMinVersion]; ok {
		base.MinVersion = version
	}
	for _, name := range s.TLSCipherSuites {
		if id, ok := commandline.CipherSuite(name); ok {
			base.CipherSuites = append(base.CipherSuites, id)
		}
	}
	pair, err := newPair(s)
	if err != nil {
		return nil, err
	}
	current := dynamiccertificates.NewDynamicServingCertificateController(base, authorities, pair, nil, nil)
	pair.AddListener(current)
	if authorities != nil {
		authorities.AddListener(current)
	}
	if err := current.RunOnce(); err != nil {
		return nil, fmt.Errorf("load certificate: %w", err)
	}
	c := &certificates{config: base.Clone(), following: []func(context.Context){
		func(ctx context.Context) { current.Run(1, ctx.Done()) },
	}}
	c.config.GetConfigForClient = current.GetConfigForClient
	if files, ok := pair.(dynamiccertificates.ControllerRunner); ok {
		c.following = append(c.following, func(ctx context.Context) { files.Run(ctx, 1) })
	}
	return c, nil
}

// pair is a certificate and its key.
type pair interface {
	dynamiccertificates.CertKeyContentProvider
}

func newPair(s *commandline.Serving) (pair, error) {
	if s.TLSCertFile != "" {
		files, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving-cert", s.TLSCertFile,
			s.TLSPrivateKeyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert-file: %w", err)
		}
		return files, nil
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	made, err := dynamiccertificates.NewStaticCertKeyContent("self-signed", certificate, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return made, nil
}
