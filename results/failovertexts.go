package results

import (
	"fmt"
	"strings"
	"unicode"
)

// remarks are why trials are void, and what the servers said.
func (t *failoverTable) remarks() {
	titled := false
	for _, b := range t.blocks {
		lines := b.remarks()
		if len(lines) == 0 {
			continue
		}
		if !titled {
			titled = true
			t.title("Remarks: why trials are void, and what the servers said")
		}
		fmt.Fprintln(t.out)
		t.print(wrap("", "  ", b.label))
		for _, line := range lines {
			t.print(wrap("  - ", "    ", line))
		}
	}
}

// remarksMax bounds the different texts of one kind in one scenario.
const remarksMax = 4

func (b failoverBlock) remarks() []string {
	lines := b.texts("void", func(t Trial) string { return t.Void })
	lines = append(lines, b.texts("said", func(t Trial) string { return t.Reason })...)
	early := int64(0)
	for _, s := range b.paths {
		early += s.FalseFailovers
	}
	if early > 0 {
		lines = append(lines, fmt.Sprintf("failovers that began before anything was injected: %d.", early))
	}
	return lines
}

// remark is what several trials have as their text, but for its numbers.
type remark struct {
	text    string // the first
	differs bool   // others have other numbers in it
	counts  []int  // of trials, by path
}

// texts gives each text that the block's trials have once, with how many
// trials of which path have it, the commonest first.
func (b failoverBlock) texts(kind string, of func(Trial) string) []string {
	remarks, sums := map[string]*remark{}, map[string]int{}
	for i, s := range b.paths {
		for _, trial := range s.Runs {
			text := of(trial)
			if text == "" {
				continue
			}
			key := withoutNumbers(text)
			r := remarks[key]
			if r == nil {
				r = &remark{text: text, counts: make([]int, len(b.paths))}
				remarks[key] = r
			}
			r.differs = r.differs || text != r.text
			r.counts[i]++
			sums[key]++
		}
	}
	var lines []string
	keys := commonest(sums)
	for i, key := range keys {
		if i == remarksMax {
			lines = append(lines, fmt.Sprintf("%s: %s more, see the record.", kind, plural(len(keys)-i, "text")))
			break
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s.", kind, b.trialsOf(remarks[key].counts), remarks[key]))
	}
	return lines
}

func (r *remark) String() string {
	text := strings.TrimSuffix(r.text, ".")
	if r.differs {
		return text + " (with other numbers elsewhere)"
	}
	return text
}

// trialsOf names the paths with their numbers of trials.
func (b failoverBlock) trialsOf(counts []int) string {
	var parts []string
	equal := true
	for i, n := range counts {
		equal = equal && n == counts[0]
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", b.paths[i].PathLabel(), n))
		}
	}
	if equal && len(counts) > 1 {
		return fmt.Sprintf("each path %d", counts[0])
	}
	return strings.Join(parts, ", ")
}

// withoutNumbers has one 0 for each run of digits.
func withoutNumbers(text string) string {
	last := ' '
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			r = '0'
		}
		drop := r == '0' && last == '0'
		last = r
		if drop {
			return -1
		}
		return r
	}, text)
}
