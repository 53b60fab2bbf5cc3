package process

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockcost/env"
	"lockcost/env/assembly"
)

func TestSweepTakesOnlyDeadFolders(t *testing.T) {
	dir := t.TempDir()
	live, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil {
		t.Fatal(err)
	}
	inMaking := filepath.Join(dir, folderPrefix+"young")
	abandoned := filepath.Join(dir, folderPrefix+"old")
	stranger := filepath.Join(dir, "another-stack-1")
	for _, d := range []string{inMaking, abandoned, stranger} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * youngest)
	for _, d := range []string{abandoned, stranger} {
		if err := os.Chtimes(d, long, long); err != nil {
			t.Fatal(err)
		}
	}
	sweep(dir)
	for path, stays := range map[string]bool{
		live.path: true, dead.path: false, inMaking: true, abandoned: false, stranger: true,
	} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v, should stay: %v", path, err, stays)
		}
	}
	if err := live.remove(); err != nil {
		t.Error(err)
	}
}

func TestFolderClosedToTheLedgerIsNamed(t *testing.T) {
	need(t, env.Spec{Ledger: true})
	if os.Geteuid() != 0 {
		t.Skip("MariaDB is another user only where we are root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Provider{Dir: dir}.Start(t.Context(), env.Spec{Ledger: true})
	if err == nil {
		t.Fatal(s.Close())
	}
	if text := err.Error(); !strings.Contains(text, dir) || !strings.Contains(text, "TMPDIR") {
		t.Error(text)
	}
}

func TestPortTakenMeanwhileIsTriedAgain(t *testing.T) {
	need(t, env.Spec{Ledger: true})
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	stolen := taken.Addr().(*net.TCPAddr).Port
	// The servers of a stack take ports side by side, so that now one and
	// now the other meets the stolen one.
	for i := range 4 {
		var calls atomic.Int32
		p := Provider{port: func() (int, error) {
			if calls.Add(1) <= 1 {
				return stolen, nil
			}
			return assembly.FreePort()
		}}
		s, err := p.Start(t.Context(), env.Spec{Ledger: true})
		if err != nil {
			t.Errorf("start %d: %v", i, err)
			continue
		}
		if calls.Load() <= int32(len(s.Nodes)) {
			t.Errorf("start %d: on a port that was taken", i)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Each of the ports of etcd and ZooKeeper may be the one that is taken: those
// of clients, and of the other servers.
func TestEveryPortTakenMeanwhileIsTriedAgain(t *testing.T) {
	need(t, env.Spec{Etcd: 1, ZooKeeper: 1})
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		what  string
		spec  env.Spec
		ports int32 // of the stack
		first int32 // the ports before it are not tried
	}{
		{"etcd", env.Spec{NoRedis: true, Etcd: 1}, 2, 0},
		// The last of ZooKeeper's is the leader, and alone listens for followers.
		{"ZooKeeper", env.Spec{NoRedis: true, ZooKeeper: 3}, 9, 6},
	} {
		for i := c.first; i < c.ports; i++ {
			var calls atomic.Int32
			p := Provider{port: func() (int, error) {
				if calls.Add(1) == i+1 {
					return taken.Addr().(*net.TCPAddr).Port, nil
				}
				return assembly.FreePort()
			}}
			s, err := p.Start(t.Context(), c.spec)
			if err != nil {
				t.Errorf("%s, port %d: %v", c.what, i, err)
				continue
			}
			if calls.Load() < 2*c.ports {
				t.Errorf("%s, port %d: started where it was taken", c.what, i)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestPortAlwaysTakenEnds(t *testing.T) {
	need(t, env.Spec{})
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	tries := 0
	p := Provider{Dir: t.TempDir(), port: func() (int, error) {
		tries++
		return taken.Addr().(*net.TCPAddr).Port, nil
	}}
	if s, err := p.Start(t.Context(), env.Spec{}); err == nil {
		t.Fatal(s.Close())
	}
	if tries < 2 {
		t.Errorf("tried %d ports", tries)
	}
}
