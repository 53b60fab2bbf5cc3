package results

import "math"

// fit fits a straight line through the points' values in each block, by least
// squares, and takes the medians over the blocks with their intervals. Nil
// where fewer than three values of the condition were measured, or no block
// has three.
func fit(points []Point, values []blockValues, expected string) *SensitivityLine {
	const least = 3
	var slopes, intercepts []float64
	blocks := map[int]bool{}
	for _, v := range values {
		for block := range v {
			blocks[block] = true
		}
	}
	for block := range blocks {
		var xs, ys []float64
		for i, p := range points {
			if y, ok := values[i][block]; ok {
				xs, ys = append(xs, p.Varied.Number), append(ys, y)
			}
		}
		if len(xs) >= least {
			intercept, slope := leastSquares(xs, ys)
			intercepts, slopes = append(intercepts, intercept), append(slopes, slope)
		}
	}
	if len(slopes) == 0 {
		return nil
	}
	slope, intercept := medianOf(slopes), medianOf(intercepts)
	line := &SensitivityLine{
		N: len(slopes), Slope: slope.center, InterceptNS: intercept.center, Confidence: slope.confidence, Expected: expected,
	}
	if slope.bounded {
		line.SlopeLow, line.SlopeHigh = &slope.low, &slope.high
		line.InterceptLow, line.InterceptHigh = &intercept.low, &intercept.high
	}
	line.R2Ratio, line.WorstNS = line.fits(points, values)
	return line
}

// leastSquares is the line with the least sum of squared distances in y.
func leastSquares(xs, ys []float64) (intercept, slope float64) {
	n := float64(len(xs))
	var meanX, meanY float64
	for i := range xs {
		meanX, meanY = meanX+xs[i]/n, meanY+ys[i]/n
	}
	var xy, xx float64
	for i := range xs {
		xy += (xs[i] - meanX) * (ys[i] - meanY)
		xx += (xs[i] - meanX) * (xs[i] - meanX)
	}
	if xx == 0 {
		return meanY, 0
	}
	slope = xy / xx
	return meanY - slope*meanX, slope
}

// fits is the share of the variance of the values' medians that the line
// explains, 0 to 1, and the greatest distance of one from it in nanoseconds.
func (l *SensitivityLine) fits(points []Point, values []blockValues) (r2, worst float64) {
	var medians, off []float64
	mean := 0.0
	for i, p := range points {
		if len(values[i]) == 0 {
			continue
		}
		m := medianOf(sorted(values[i])).center
		medians = append(medians, m)
		off = append(off, m-(l.InterceptNS+l.Slope*p.Varied.Number))
		mean += m
	}
	mean /= float64(len(medians))
	var left, whole float64
	for i, m := range medians {
		left += off[i] * off[i]
		whole += (m - mean) * (m - mean)
		worst = math.Max(worst, math.Abs(off[i]))
	}
	if whole == 0 {
		return 1, worst
	}
	return math.Max(0, 1-left/whole), worst
}
