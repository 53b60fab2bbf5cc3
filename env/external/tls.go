package external

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// TLSFiles names what TLS needs beyond this machine's own roots. All are PEM.
// They hold for every Redis and Sentinel that is reached over TLS, the CA for
// the ledger too.
type TLSFiles struct {
	CA   string // certificates of the authorities to trust, in place of the system's; "" for those
	Cert string // our own certificate for Redis, for servers that ask for one; "" for none
	Key  string // its key
}

// given tells whether there is any.
func (f TLSFiles) given() bool { return f != TLSFiles{} }

// load reads the files. Its error names the file and what is wrong with it.
func (f TLSFiles) load() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if f.CA != "" {
		if c.RootCAs, err = authorities(f.CA); err != nil {
			return nil, fmt.Errorf("the CA in %s: %w", f.CA, err)
		}
	}
	switch {
	case f.Cert == "" && f.Key == "":
		return c, nil
	case f.Key == "":
		return nil, fmt.Errorf("the certificate %s was given without its key: add --tls-key FILE", f.Cert)
	case f.Cert == "":
		return nil, fmt.Errorf("the key %s was given without its certificate: add --tls-cert FILE", f.Key)
	}
	own, err := ownCertificate(f.Cert, f.Key)
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{own}
	return c, nil
}

// authorities reads certificates of which at least one is valid now.
func authorities(file string) (*x509.CertPool, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	var invalid error
	valid := false
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("a certificate cannot be read: %w", err)
		}
		if err := current(c); err != nil {
			invalid = err
			continue
		}
		valid = true
		pool.AddCert(c)
	}
	switch {
	case valid:
		return pool, nil
	case invalid != nil:
		return nil, invalid
	}
	return nil, errors.New("there is no PEM certificate in it")
}

// ownCertificate reads a certificate and the key to it.
func ownCertificate(cert, key string) (own tls.Certificate, err error) {
	certText, err := readFile(cert)
	if err != nil {
		return own, fmt.Errorf("the certificate in %s: %w", cert, err)
	}
	keyText, err := readFile(key)
	if err != nil {
		return own, fmt.Errorf("the key in %s: %w", key, err)
	}
	if own, err = tls.X509KeyPair(certText, keyText); err != nil {
		return own, fmt.Errorf("the certificate in %s with the key in %s: %s", cert, key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	if err := current(own.Leaf); err != nil {
		return own, fmt.Errorf("the certificate in %s: %w", cert, err)
	}
	return own, nil
}

// current tells whether a certificate is valid at this time.
func current(c *x509.Certificate) error {
	switch now := time.Now(); {
	case now.After(c.NotAfter):
		return fmt.Errorf("it expired on %s", c.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fmt.Errorf("it is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// readFile leaves the name out of its errors: ours have it.
func readFile(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	var path *os.PathError
	if errors.As(err, &path) {
		return nil, fmt.Errorf("it cannot be read: %w", path.Err)
	}
	return text, err
}
