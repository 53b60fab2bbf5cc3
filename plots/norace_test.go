//go:build !race

package plots

// raceEnabled says that the race detector makes drawing twenty times slower.
const raceEnabled = false
