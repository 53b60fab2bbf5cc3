package lock_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockcost/env/process/processtest"
	"lockcost/workloads/lock"
)

func TestTLS(t *testing.T) {
	certFile, keyFile, roots := selfSigned(t)
	addr := processtest.Redis(t, "port 0", "tls-port "+processtest.Port, "tls-auth-clients no",
		"tls-cert-file "+certFile, "tls-key-file "+keyFile, "tls-ca-cert-file "+certFile)
	client := open(t, lock.Config{
		Primary: addr, PoolSize: 2,
		TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	})
	if err := client.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	lease := must(must(lock.NewSetNX(client, ""))(t).TryLock(t.Context(), prefix+"tls", time.Second))(t)
	if err := lease.Unlock(t.Context()); err != nil {
		t.Error(err)
	}

	distrusting, err := lock.Open(t.Context(), lock.Config{
		Primary: addr, TLS: &tls.Config{RootCAs: x509.NewCertPool()},
	})
	if err == nil {
		distrusting.Close()
		t.Fatal("a certificate that nobody vouches for was accepted")
	}
	if kind := lock.Kind(err); kind != "redis-connection" {
		t.Errorf("got %v (%s), want redis-connection", err, kind)
	}
}

// selfSigned makes a certificate of 127.0.0.1 that vouches for itself.
func selfSigned(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	roots = x509.NewCertPool()
	roots.AddCert(must(x509.ParseCertificate(der))(t))
	folder := t.TempDir()
	certFile, keyFile = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))(t))
	return certFile, keyFile, roots
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
