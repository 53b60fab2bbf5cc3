package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lockcost/env"
)

// MissingError tells that a server's program is not installed.
type MissingError struct {
	Program string // as it is looked for: redis-server, mariadbd, etcd, java, zookeeper.jar
	Package string // the Debian package that has it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed: apt-get install %s (or make deps)", e.Program, e.Package)
}

// programs is where the servers' programs are; "" for those not needed.
type programs struct {
	redis, mariadb, etcd string
	java                 string
	zookeeper            []string // ZooKeeper's class path
}

// redisVariable names a program to run in place of redis-server.
const redisVariable = "LOCKCOST_REDIS_SERVER"

// find looks for the programs that spec needs, with redis in place of
// redis-server where it is not "". The error is a *MissingError where a
// program is not installed.
func find(spec env.Spec, redis string) (p programs, err error) {
	if !spec.NoRedis || spec.Independents > 0 {
		if p.redis, err = findRedis(redis); err != nil {
			return p, err
		}
	}
	if spec.Ledger {
		if p.mariadb, err = look("mariadbd", "mariadb-server-core"); err != nil {
			return p, err
		}
	}
	if spec.Etcd > 0 {
		if p.etcd, err = findEtcd(); err != nil {
			return p, err
		}
	}
	if spec.ZooKeeper > 0 {
		if p.java, err = look("java", "default-jre-headless"); err != nil {
			return p, err
		}
		p.zookeeper, err = findZooKeeper()
	}
	return p, err
}

// findRedis returns the program that is to run as redis-server.
func findRedis(chosen string) (string, error) {
	from := "the redis-server that was asked for"
	if chosen == "" {
		chosen, from = os.Getenv(redisVariable), redisVariable
	}
	if chosen == "" {
		return look("redis-server", "redis-server")
	}
	path, err := exec.LookPath(chosen)
	if err != nil {
		return "", fmt.Errorf("%s, %s, cannot be run: %w", from, chosen, err)
	}
	return filepath.Abs(path)
}

// findEtcd returns an installed etcd, else the one that make deps built last.
func findEtcd() (string, error) {
	path, err := look("etcd", "etcd-server")
	if err == nil {
		return path, nil
	}
	cache, ok := cacheFolder()
	if !ok {
		return "", err
	}
	var last time.Time
	built, _ := filepath.Glob(filepath.Join(cache, "lockcost", "bin", "etcd-v*"))
	for _, b := range built {
		i, statErr := os.Stat(b)
		if statErr == nil && i.Mode()&0o111 != 0 && i.ModTime().After(last) {
			path, last, err = b, i.ModTime(), nil
		}
	}
	return path, err
}

// cacheFolder is where make deps and make test-deps keep what they made.
func cacheFolder() (string, bool) {
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return dir, true
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".cache"), err == nil
}

// debianJars is where Debian keeps Java's libraries. zookeeper.jar names there
// what it needs, but for what writes its log.
const debianJars = "/usr/share/java"

// findZooKeeper returns the class path of Debian's ZooKeeper, else of one that
// was unpacked as Apache distributes it.
func findZooKeeper() ([]string, error) {
	homes := []string{"/opt/zookeeper"}
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		homes = append([]string{home}, homes...)
	}
	return findZooKeeperIn(debianJars, homes)
}

func findZooKeeperIn(debian string, homes []string) ([]string, error) {
	if jar := filepath.Join(debian, "zookeeper.jar"); isFile(jar) {
		return []string{jar, filepath.Join(debian, "slf4j-simple.jar")}, nil
	}
	for _, home := range homes {
		lib := filepath.Join(home, "lib")
		if jars, _ := filepath.Glob(filepath.Join(lib, "zookeeper-[0-9]*.jar")); len(jars) > 0 {
			// Its conf has the level of its log, which else is the finest.
			return []string{filepath.Join(lib, "*"), filepath.Join(home, "conf")}, nil
		}
	}
	return nil, &MissingError{Program: "zookeeper.jar", Package: "libzookeeper-java"}
}

func isFile(path string) bool {
	i, err := os.Stat(path)
	return err == nil && i.Mode().IsRegular()
}

// serverFolders is where distributions keep servers, which are often not on
// the PATH of anybody but root.
var serverFolders = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/bin", "/usr/local/bin"}

func look(program, pkg string) (string, error) {
	return lookIn(serverFolders, program, pkg)
}

func lookIn(folders []string, program, pkg string) (string, error) {
	candidates := []string{program}
	for _, f := range folders {
		candidates = append(candidates, filepath.Join(f, program))
	}
	for _, c := range candidates {
		if path, err := exec.LookPath(c); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", &MissingError{Program: program, Package: pkg}
}

// bindFailures is what the servers write when their port is somebody else's.
var bindFailures = []string{"address already in use", "failed listening on port"}

func portWasTaken(log string) bool {
	log = strings.ToLower(log)
	for _, f := range bindFailures {
		if strings.Contains(log, f) {
			return true
		}
	}
	return false
}
