package external_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/external"
	"lockcost/env/process/processtest"
)

// soon is until when certificates of these tests are valid.
func soon() time.Time { return time.Now().Add(time.Hour) }

func TestCertificates(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v processtest.Version) {
		ca := processtest.NewAuthority(t, soon())
		another := processtest.NewAuthority(t, soon())
		own, key := ca.Issue(t, soon())
		foreign, foreignKey := another.Issue(t, soon())
		given := func(addr string, f external.TLSFiles) external.Provider {
			return external.Provider{Redis: "rediss://" + addr, TLS: f}
		}
		at := processtest.RedisOf(t, v, ca.Redis(t, "no", "127.0.0.1")...)
		s, err := given(at, external.TLSFiles{CA: ca.File}).Start(t.Context(), env.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		if servers, err := env.Inspect(t.Context(), s); err != nil || len(servers) != 1 || servers[0].Version == "" {
			t.Errorf("inspected: %+v, %v", servers, err)
		}
		refused(t, given(at, external.TLSFiles{}), env.Spec{}, at, "does not know", "--tls-ca FILE")
		refused(t, given(at, external.TLSFiles{CA: another.File}), env.Spec{}, at, "has not signed")
		refused(t, external.Provider{Redis: at}, env.Spec{}, at, "rediss://")

		at = processtest.RedisOf(t, v, ca.Redis(t, "no", "redis.example")...)
		refused(t, given(at, external.TLSFiles{CA: ca.File}), env.Spec{}, at, "not for 127.0.0.1", "redis.example")

		at = processtest.RedisOf(t, v, ca.Redis(t, "yes", "127.0.0.1")...)
		if _, err := given(at, external.TLSFiles{CA: ca.File, Cert: own, Key: key}).Start(t.Context(), env.Spec{}); err != nil {
			t.Error(err)
		}
		refused(t, given(at, external.TLSFiles{CA: ca.File}), env.Spec{}, at, "wants a certificate of ours", "--tls-cert")
		refused(t, given(at, external.TLSFiles{CA: ca.File, Cert: foreign, Key: foreignKey}), env.Spec{}, at, "--tls-cert")

		old := processtest.RedisOf(t, v, append(ca.Redis(t, "yes", "127.0.0.1"), `tls-protocols "TLSv1.2"`)...)
		refused(t, given(old, external.TLSFiles{CA: ca.File}), env.Spec{}, old, "wants a certificate of ours")
		plain := processtest.RedisOf(t, v)
		refused(t, given(plain, external.TLSFiles{CA: ca.File}), env.Spec{}, plain, "redis://")
	})
}

// What is wrong with a file is told before any server is asked: there is none.
func TestFilesOfTLS(t *testing.T) {
	ca := processtest.NewAuthority(t, soon())
	own, key := ca.Issue(t, soon())
	_, otherKey := ca.Issue(t, soon())
	past := time.Now().Add(-time.Minute)
	expired := processtest.NewAuthority(t, past)
	expiredOwn, expiredKey := ca.Issue(t, past)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files external.TLSFiles
		want  []string
	}{
		"absent":            {external.TLSFiles{CA: "absent.pem"}, []string{"absent.pem", "cannot be read"}},
		"a folder":          {external.TLSFiles{CA: filepath.Dir(empty)}, []string{"cannot be read"}},
		"no certificate":    {external.TLSFiles{CA: empty}, []string{empty, "no PEM certificate"}},
		"a key for a CA":    {external.TLSFiles{CA: key}, []string{key, "no PEM certificate"}},
		"an expired CA":     {external.TLSFiles{CA: expired.File}, []string{expired.File, "expired"}},
		"without key":       {external.TLSFiles{Cert: own}, []string{"--tls-key"}},
		"without cert":      {external.TLSFiles{Key: key}, []string{"--tls-cert"}},
		"another's key":     {external.TLSFiles{Cert: own, Key: otherKey}, []string{own, otherKey, "does not match"}},
		"an expired cert":   {external.TLSFiles{Cert: expiredOwn, Key: expiredKey}, []string{expiredOwn, "expired"}},
		"exchanged":         {external.TLSFiles{Cert: key, Key: own}, []string{own, key}},
		"absent key":        {external.TLSFiles{Cert: own, Key: "absent.pem"}, []string{"absent.pem"}},
		"absent cert":       {external.TLSFiles{Cert: "absent.pem", Key: key}, []string{"absent.pem"}},
		"an empty cert":     {external.TLSFiles{Cert: empty, Key: key}, []string{empty}},
		"nothing to verify": {external.TLSFiles{CA: ca.File}, []string{"rediss://"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := "rediss://127.0.0.1:1"
			if name == "nothing to verify" {
				at = "127.0.0.1:1"
			}
			refused(t, external.Provider{Redis: at, TLS: c.files}, env.Spec{}, c.want...)
		})
	}
	for _, p := range []external.Provider{
		{Redis: "rediss://h:1", Sentinels: []string{"redis://h:2"}},
		{Redis: "redis://h:1", Sentinels: []string{"rediss://h:2"}},
		{Redis: "rediss://h:1", ReplicasAt: []string{"redis://h:2"}},
		{Redis: "h:1", ReplicasAt: []string{"rediss://h:2"}},
		{Sentinels: []string{"rediss://h:1", "redis://h:2"}},
	} {
		refused(t, p, env.Spec{}, "with every server or with none")
	}
}

func forEachVersion(t *testing.T, test func(t *testing.T, v processtest.Version)) {
	for _, v := range processtest.Versions() {
		t.Run(v.Name, func(t *testing.T) { test(t, v) })
	}
}
