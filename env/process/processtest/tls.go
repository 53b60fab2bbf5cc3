package processtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a CA of a test's own.
type Authority struct {
	File string // its certificate, PEM
	cert *x509.Certificate
	key  crypto.Signer
	next int64
}

// NewAuthority makes a CA whose certificate is valid until then.
func NewAuthority(t testing.TB, until time.Time) *Authority {
	t.Helper()
	a := &Authority{next: 1}
	a.cert = a.template("CA of "+t.Name()+" "+rand.Text(), until)
	a.cert.IsCA, a.cert.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	a.key = newKey(t)
	a.File = filepath.Join(t.TempDir(), "ca.pem")
	writePEM(t, a.File, "CERTIFICATE", a.sign(t, a.cert, a.key.Public()))
	return a
}

// Issue makes a certificate for host names and IP addresses, and its key.
func (a *Authority) Issue(t testing.TB, until time.Time, names ...string) (certFile, keyFile string) {
	t.Helper()
	c := a.template("a test's certificate", until)
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	key := newKey(t)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certFile, keyFile = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	writePEM(t, certFile, "CERTIFICATE", a.sign(t, c, key.Public()))
	writePEM(t, keyFile, "PRIVATE KEY", der)
	return certFile, keyFile
}

// Redis are the settings of a server that speaks TLS and nothing else, has a
// certificate for these names, and asks its clients for one as
// tls-auth-clients says: yes, no or optional.
func (a *Authority) Redis(t testing.TB, askClients string, names ...string) []string {
	t.Helper()
	cert, key := a.Issue(t, time.Now().Add(time.Hour), names...)
	return []string{
		"port 0", "tls-port " + Port, "tls-replication yes", "tls-auth-clients " + askClients,
		"tls-cert-file " + cert, "tls-key-file " + key, "tls-ca-cert-file " + a.File,
	}
}

func (a *Authority) template(name string, until time.Time) *x509.Certificate {
	a.next++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.next), Subject: pkix.Name{CommonName: name},
		NotBefore: until.Add(-2 * time.Hour), NotAfter: until, BasicConstraintsValid: true,
	}
}

func (a *Authority) sign(t testing.TB, c *x509.Certificate, key crypto.PublicKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
