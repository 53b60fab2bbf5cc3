//go:build amd64 || arm64

package awake

// rest passes the time with n of the instructions that tell the processor a
// loop only waits, so that it takes nothing from a sibling on its core.
//
//go:noescape
func rest(n uint32)
