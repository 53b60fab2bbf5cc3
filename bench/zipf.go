package bench

import (
	"math"
	"sort"
)

const (
	maxZipf     = 10
	maxDistinct = 1_000_000 // keys, or hot orders
)

// popularity is, for n keys of which the k-th is drawn as often as 1/k^s, the
// chance that a draw is of one of the first k: a distribution of Zipf's with
// any exponent from 0 on. (math/rand has those above 1 only.)
func popularity(n int64, s float64) []float64 {
	up := make([]float64, n)
	sum := 0.0
	for k := range up {
		sum += math.Pow(float64(k+1), -s)
		up[k] = sum
	}
	for k := range up {
		up[k] /= sum
	}
	return up
}

// popular is a popularity that is kept, as the next task mostly has the same.
type popular struct {
	n  int64
	s  float64
	up []float64
}

func (s *site) popularity(n int64, exponent float64) []float64 {
	if s.popular.up == nil || s.popular.n != n || s.popular.s != exponent {
		s.popular = popular{n, exponent, popularity(n, exponent)}
	}
	return s.popular.up
}

// draw is the key of a slot: always the same for the same seed, and without
// anything that workers would share.
func draw(popular []float64, seed uint64, slot int64) int64 {
	const uniform = 1 << 53
	u := float64(mixed(seed^mixed(uint64(slot)))>>11) / uniform
	k := sort.SearchFloat64s(popular, u)
	return int64(min(k, len(popular)-1))
}

// mixed is the finalizer of SplitMix64 (Steele, Lea and Flood 2014): of its
// argument and of 0, 1, 2 … alike it makes evenly distributed bits.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
