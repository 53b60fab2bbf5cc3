package external

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// answerTimeout bounds the wait for a first sign of life.
const answerTimeout = 3 * time.Second

// admitted waits for a sign of life over TLS. In TLS 1.3 a server that turns
// our certificate down, or misses one, says so only after the handshake.
func admitted(what string, c *tls.Conn, secure *tls.Config) error {
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return unreachable(what, err, secure)
	}
	_, err := c.Write([]byte("PING\r\n"))
	if err == nil || closed(err) {
		_, err = c.Read(make([]byte, 1)) // any reply will do, and an alert is better than a closed connection
	}
	if err != nil {
		return unreachable(what, err, secure)
	}
	return nil
}

// alerts is how servers turn us down in TLS, and what to try.
var alerts = []struct{ contains, advice string }{
	{"tls: certificate required", "wants a certificate of ours: give it with --tls-cert FILE and --tls-key FILE"},
	{"tls: unknown certificate authority", "does not know the authority of the certificate given with --tls-cert"},
	{"tls: error decrypting message", "does not accept the certificate given with --tls-cert, or whoever signed it"},
	{"tls: bad certificate", "does not accept the certificate given with --tls-cert"},
	{"tls: expired certificate", "says that the certificate given with --tls-cert has expired"},
	{"tls: unsupported certificate", "does not accept the certificate given with --tls-cert for this purpose"},
	{"tls: protocol version not supported", "speaks no TLS from version 1.2 on"},
}

// distrust tells why one side does not trust the other; nil where that is not
// what err is about.
func distrust(what string, err error, secure *tls.Config) error {
	var (
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &unknown) && secure.RootCAs == nil:
		return fmt.Errorf("%s has a certificate by an authority that this machine does not know: give its CA with --tls-ca FILE", what)
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has a certificate that the CA given with --tls-ca has not signed: give the one that has", what)
	case errors.As(err, &host):
		return fmt.Errorf("%s has a certificate that is not for %s: give its address by a name that it is for (%s)",
			what, host.Host, strings.Join(namesOf(host.Certificate), ", "))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("%s has a certificate that has expired or is not valid yet: renew it", what)
	case errors.As(err, &cert):
		return fmt.Errorf("%s has a certificate that does not verify: %w", what, err)
	}
	for _, a := range alerts {
		if strings.Contains(err.Error(), a.contains) {
			return fmt.Errorf("%s %s", what, a.advice)
		}
	}
	if strings.Contains(err.Error(), "tls: handshake failure") {
		if len(secure.Certificates) == 0 {
			return fmt.Errorf("%s breaks off the TLS handshake: if it wants a certificate of ours, give it with --tls-cert FILE and --tls-key FILE", what)
		}
		return fmt.Errorf("%s breaks off the TLS handshake: see its log", what)
	}
	return nil
}

// namesOf is whom a certificate is for.
func namesOf(c *x509.Certificate) []string {
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return []string{"none: it has no subjectAltName"}
	}
	return names
}
