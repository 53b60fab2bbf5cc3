package results

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// tableWidth is the width that the text summary keeps to, in columns.
const tableWidth = 100

// columns lays rows of cells out in columns, flush left.
type columns [][]string

// lines renders the rows, indented by two, with blanks at their ends cut. A
// first cell far longer than its column's others stands on a line of its own.
// A row that is shorter than the first one ends in a text, which takes the
// room of the cells that the row lacks.
func (c columns) lines() []string {
	widths := c.widths()
	var lines []string
	for _, row := range c {
		var b strings.Builder
		for i, cell := range row {
			if i == 0 && len(row) > 1 && utf8.RuneCountInString(cell) > widths[0] {
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
			if i == 0 && n > labelWidth || i == len(row)-1 && len(row) < len(c[0]) {
				continue
			}
			widths[i] = max(widths[i], n)
		}
	}
	return widths
}

// withoutEmpty leaves out the columns, but for the first, in which no row below
// the names has anything.
func (c columns) withoutEmpty() columns {
	kept := make(columns, len(c))
	for i := range c[0] {
		filled := slices.ContainsFunc(c[1:], func(row []string) bool {
			return i < len(row) && row[i] != absent && row[i] != ""
		})
		for at, row := range c {
			if i < len(row) && (i == 0 || filled) {
				kept[at] = append(kept[at], row[i])
			}
		}
	}
	return kept
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
