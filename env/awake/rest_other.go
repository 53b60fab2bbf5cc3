//go:build !amd64 && !arm64

package awake

// rest passes the time.
func rest(n uint32) {
	for range n {
		spun++
	}
}

var spun uint64
