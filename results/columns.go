package results

import (
	"strings"
	"unicode/utf8"
)

// tableWidth is the width that the text summary keeps to, in columns.
const tableWidth = 100

// columns lays rows of cells out in columns, flush left.
type columns [][]string

// lines renders the rows, indented by two, with blanks at their ends cut. A
// first cell far longer than its column's others stands on a line of its own.
func (c columns) lines() []string {
	widths := c.widths()
	var lines []string
	for _, row := range c {
		var b strings.Builder
		for i, cell := range row {
			if i == 0 && utf8.RuneCountInString(cell) > widths[0] {
				lines = append(lines, "  "+cell)
				cell = ""
			}
			b.WriteString("  " + cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// labelWidth bounds the first column.
const labelWidth = 17

func (c columns) widths() []int {
	var widths []int
	for _, row := range c {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			n := utf8.RuneCountInString(cell)
			if i == 0 && n > labelWidth {
				continue
			}
			widths[i] = max(widths[i], n)
		}
	}
	return widths
}

// fits says whether all lines keep to the table's width.
func fits(lines []string) bool {
	for _, line := range lines {
		if utf8.RuneCountInString(line) > tableWidth {
			return false
		}
	}
	return true
}

// wrap breaks text at blanks to the table's width, but not between a number
// and its unit: the first line starts with first, those after it with rest.
func wrap(first, rest, text string) []string {
	var lines []string
	line, empty := first, true
	for _, word := range words(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > tableWidth {
			lines = append(lines, line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return append(lines, line)
}

// words splits text at blanks, and leaves a unit with its number.
func words(text string) []string {
	var words []string
	for _, word := range strings.Fields(text) {
		switch strings.TrimRight(word, ".,;:)") {
		case "ns", "µs", "ms", "s", "%":
			if n := len(words); n > 0 {
				words[n-1] += " " + word
				continue
			}
		}
		words = append(words, word)
	}
	return words
}
